"""Background work on summaries: ids in, one call, safe to run twice and in any order."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from memory import summary_store
from memory.later import send

MOST_AT_ONCE = 20


@shared_task(ignore_result=True)
def summarise_span(summary_id: int) -> None:
    """Makes one summary, if it is to be made and nobody does."""
    from memory.summarising import summarise

    summarise(summary_id)


@shared_task(ignore_result=True)
def find_unsummarised() -> None:
    """Takes up what was lost on its way to a worker, and what has failed and waited."""
    send(summarise_span, summary_store.due(timezone.now(), MOST_AT_ONCE))
