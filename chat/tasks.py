"""Background work: ids in, one call, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from chat import store
from chat.library.index import scan_all


@shared_task(ignore_result=True)
def sweep_runs() -> None:
    """Marks runs whose server died, also in conversations that nobody opens."""
    store.sweep_all()


@shared_task(ignore_result=True)
def scan_library() -> None:
    """Takes up what has changed in the folders of the library."""
    scan_all()
