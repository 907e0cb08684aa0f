"""How a run stands."""

from django.db import models


class RunStatus(models.TextChoices):
    RUNNING = "running", "Running"
    COMPLETE = "complete", "Complete"
    STOPPED = "stopped", "Stopped"
    TRUNCATED = "truncated", "Cut short"
    INTERRUPTED = "interrupted", "Interrupted"
    FAILED = "failed", "Failed"
    EMPTY = "empty", "Empty"
