"""Background work of memory: ids in, one call, safe to run twice and in any order."""

from __future__ import annotations

from time import monotonic

from celery import shared_task
from django.db import DatabaseError

from memory import service
from memory.stored.indexing import StaleIndex

_BACKLOG = 500
_ENCODED_AT_ONCE = 32
_ENCODING_SECONDS = 40


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
    service.encode_pending(limit=_ENCODED_AT_ONCE)


@shared_task(ignore_result=True)
def index_backlog() -> None:
    """Indexes and encodes what no task has: the database knows, whatever became of the queue."""
    service.remember_pending(limit=_BACKLOG)
    ends = monotonic() + _ENCODING_SECONDS
    while service.encode_pending(limit=_ENCODED_AT_ONCE) and monotonic() < ends:
        pass
