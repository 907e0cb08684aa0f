"""The Celery application. Run a worker with `celery -A lumina worker`."""

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun

from chat.logs import new_request_id, request_id

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lumina.settings")

app = Celery("lumina")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(related_name="tasks_summaries")


@setup_logging.connect
def log_as_the_server_does(**kwargs: Any) -> None:
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@before_task_publish.connect
def hand_the_request_on(headers: dict[str, Any], **kwargs: Any) -> None:
    if current := request_id.get():
        headers["request_id"] = current


@task_prerun.connect
def take_the_request_up(task: Any, **kwargs: Any) -> None:
    request_id.set(new_request_id(task.request.get("request_id") or ""))
    from chat.tracing import Span  # the settings are read by now

    task.request.span = Span(task.name, {"request": request_id.get()})


@task_postrun.connect
def leave_the_request(task: Any, state: str | None = None, **kwargs: Any) -> None:
    task.request.span.end({"state": state}, failed=state == "FAILURE")
    request_id.set("")
