"""What is stored of the conversation. Every table is reached through its owner.

Text is language alone: what a page needs beside it (sources, citations, status) has its own rows.
"""

from __future__ import annotations

from typing import Self

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q

from chat.accounts.models import (
    AuditEntry,
    ContentAccess,
    Invitation,
    Quota,
    RateCount,
    Session,
    StoredSetting,
    Usage,
)
from chat.library_models import LibraryDocument, LibraryFolder, LibraryPassage
from chat.statuses import RunStatus

__all__ = [
    "AuditEntry",
    "Citation",
    "ContentAccess",
    "Conversation",
    "Invitation",
    "LibraryDocument",
    "LibraryFolder",
    "LibraryPassage",
    "Message",
    "Passage",
    "Quota",
    "RateCount",
    "RecalledSpan",
    "Run",
    "RunEvent",
    "Session",
    "SignInLink",
    "Source",
    "StoredSetting",
    "Usage",
    "User",
    "WorkerSign",
]


class User(AbstractUser):
    """A person. Their time zone decides what "today" means to the model."""

    time_zone = models.CharField(max_length=64, blank=True)


class SignInLink(models.Model):
    """A single-use way in for one user. Only a hash of the token is kept."""

    class Purpose(models.TextChoices):
        SIGN_IN = "sign_in"
        RESET = "reset"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    purpose = models.CharField(max_length=10, choices=Purpose.choices, default=Purpose.SIGN_IN)
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Sign-in link of {self.user_id}, until {self.expires_at:%Y-%m-%d %H:%M}"


class OwnedQuerySet(models.QuerySet):
    """Rows that know, through `owner_path`, whose they are."""

    def of(self, owner: User) -> Self:
        path = getattr(self.model, "owner_path", "owner")
        return self.filter(**{path: owner})


class Conversation(models.Model):
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=120, blank=True)
    head = models.ForeignKey(
        "Message", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True, db_index=True)
    # Session facts: they hold for this conversation, and a new question may take them along.
    folder = models.ForeignKey(
        LibraryFolder, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    name = models.CharField(max_length=80, blank=True)
    style = models.CharField(max_length=200, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("-updated_at", "-id")
        indexes = (models.Index(fields=("owner", "-updated_at", "-id")),)

    def __str__(self) -> str:
        return self.title or f"Conversation {self.pk}"


class Message(models.Model):
    """One side's words. Messages form a tree; the conversation points at the head it shows.

    `text` is what the page shows, markers included; `model_text` is the same cleaned for a model.
    """

    owner_path = "conversation__owner"

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="children"
    )
    role = models.CharField(max_length=10, choices=Role.choices)
    text = models.TextField(blank=True)
    model_text = models.TextField(blank=True)
    created_at = models.DateTimeField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("created_at", "id")
        indexes = (models.Index(fields=("conversation", "created_at", "id")),)
        constraints = (
            models.CheckConstraint(
                name="message_role_known", condition=Q(role__in=("user", "assistant"))
            ),
            models.CheckConstraint(
                name="message_not_its_own_parent",
                condition=Q(parent__isnull=True) | ~Q(parent=F("id")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.role} {self.pk}"


class Run(models.Model):
    """One execution of the loop: a question, the answer it makes, and how that ended."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="runs")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="runs")
    question = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="runs")
    answer = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="run")
    client_id = models.CharField(max_length=64)
    status = models.CharField(
        max_length=12, choices=RunStatus.choices, default=RunStatus.RUNNING, db_index=True
    )
    reason = models.TextField(blank=True)
    model_name = models.CharField(max_length=200, blank=True)
    time_zone = models.CharField(max_length=64, blank=True)
    continues = models.BooleanField(default=False)
    stop_requested = models.BooleanField(default=False)
    last_seq = models.PositiveIntegerField(default=0)
    n_steps = models.PositiveIntegerField(default=0)
    n_stray_markers = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    receipt = models.JSONField(default=dict)
    # Of its working memory: the rest is the question, the answer and the passages of its sources.
    fail_count = models.PositiveIntegerField(default=0)
    last_error = models.TextField(blank=True)
    followups = models.JSONField(default=list)
    process = models.CharField(max_length=200, blank=True)
    # Where it was asked from, for the rate of its searches; gone when the run has ended.
    address = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                name="one_active_run_a_conversation",
                fields=("conversation",),
                condition=Q(status="running"),
            ),
            models.UniqueConstraint(name="one_run_a_client_id", fields=("owner", "client_id")),
            models.CheckConstraint(
                name="run_ended_with_a_time",
                condition=Q(status="running", finished_at__isnull=True)
                | (~Q(status="running") & Q(finished_at__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"Run {self.pk}: {self.status}"


class RunEvent(models.Model):
    """One thing a run said. `seq` counts from 1 within the run, without gaps."""

    owner_path = "run__owner"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=32)
    data = models.JSONField(default=dict)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("run", "seq")
        constraints = (
            models.UniqueConstraint(name="seq_once_a_run", fields=("run", "seq")),
            models.CheckConstraint(name="seq_from_one", condition=Q(seq__gte=1)),
        )

    def __str__(self) -> str:
        return f"{self.run_id}/{self.seq} {self.type}"


class Source(models.Model):
    """A page or document of one turn, with the text as it was read."""

    owner_path = "run__owner"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="sources")
    number = models.PositiveIntegerField()
    title = models.TextField(blank=True)
    url = models.TextField()
    domain = models.CharField(max_length=255, blank=True)
    provider = models.CharField(max_length=64, blank=True)
    snapshot = models.TextField(blank=True)
    snapshot_hash = models.CharField(max_length=64, blank=True)
    read_at = models.DateTimeField()
    published_at = models.DateTimeField(null=True, blank=True)
    # Brought back by the conversation: the snapshot is what was recalled of an older source.
    recalled = models.BooleanField(default=False)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("run", "number")
        constraints = (
            models.UniqueConstraint(name="source_number_once_a_run", fields=("run", "number")),
            models.CheckConstraint(name="source_number_from_one", condition=Q(number__gte=1)),
        )

    def __str__(self) -> str:
        return f"[{self.number}] {self.title or self.domain}"


class RecalledSpan(models.Model):
    """A part of a source's snapshot that was recalled of an earlier source, so that it goes when
    that one goes."""

    owner_path = "source__run__owner"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="recalled_spans")
    origin = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="copies")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("source", "start", "id")
        constraints = (
            models.CheckConstraint(name="recalled_span_not_empty", condition=Q(end__gt=F("start"))),
        )

    def __str__(self) -> str:
        return f"{self.source_id}[{self.start}:{self.end}] of {self.origin_id}"

    @property
    def text(self) -> str:
        return self.source.snapshot[self.start : self.end]


class Passage(models.Model):
    """A span of a source's snapshot that the model was shown."""

    owner_path = "source__run__owner"

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="passages")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("source", "start", "id")
        constraints = (
            models.CheckConstraint(name="passage_not_empty", condition=Q(end__gt=F("start"))),
        )

    def __str__(self) -> str:
        return f"{self.source_id}[{self.start}:{self.end}]"

    @property
    def text(self) -> str:
        return self.source.snapshot[self.start : self.end]


class Citation(models.Model):
    """A link from a span of an answer to the passage that it rests on.

    `problem` says what the span claims and the source does not hold; empty when it is supported.
    """

    owner_path = "answer__conversation__owner"

    answer = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="citations")
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="citations")
    passage = models.ForeignKey(
        Passage, on_delete=models.SET_NULL, null=True, blank=True, related_name="citations"
    )
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    problem = models.TextField(blank=True)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        ordering = ("answer", "start", "id")
        constraints = (
            models.CheckConstraint(name="citation_not_empty", condition=Q(end__gt=F("start"))),
        )

    def __str__(self) -> str:
        return f"{self.answer_id}[{self.start}:{self.end}] → {self.source_id}"


class WorkerSign(models.Model):
    """A sign of life of the background worker: when it last did the thing of that name."""

    name = models.CharField(max_length=64, unique=True)
    at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} at {self.at}"
