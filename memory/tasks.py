"""Background work of memory: ids in, one call, safe to run twice and in any order."""

from __future__ import annotations

from celery import shared_task
from django.db import DatabaseError

from memory import service
from memory.stored.indexing import StaleIndex

_BACKLOG = 500


@shared_task(
    ignore_result=True,
    autoretry_for=(DatabaseError, StaleIndex),
    retry_backoff=2,
    retry_backoff_max=300,
    max_retries=8,
)
def remember(message_id: int) -> None:
    """Indexes a message that was just written."""
    service.remember(message_id)


@shared_task(ignore_result=True)
def index_backlog() -> None:
    """Indexes what no task has indexed: the database knows, whatever became of the queue."""
    service.remember_pending(limit=_BACKLOG)
