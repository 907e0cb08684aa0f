"""Handing work to the background once a transaction is through.

A queue that cannot be reached costs nothing but time: what is to be done stands in the database,
and a task that runs every minute finds it there.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django.db import transaction

logger = logging.getLogger("lumina.memory")


def later(task: Any, *ids: int) -> None:
    """Sends a task when the transaction has been committed; a broken queue is logged."""
    transaction.on_commit(partial(_send, task, ids))


def _send(task: Any, ids: tuple[int, ...]) -> None:
    try:
        task.apply_async(args=ids, retry=False)
    except Exception as error:  # every broker fails in its own way, and none may fail the caller
        logger.warning("%s could not be queued: %s", task.name, error.__class__.__name__)
