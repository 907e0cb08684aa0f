"""Handing work to the background once a transaction is through.

A queue that cannot be reached costs nobody anything: what is to be done stands in the database, and
a task that runs every minute finds it there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any

from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger("lumina.memory")


def later(task: Any, ids: Sequence[int]) -> None:
    """Sends the task for each id when the transaction has been committed."""
    if ids:
        transaction.on_commit(partial(_send_beside, task, ids))


def _send_beside(task: Any, ids: Sequence[int]) -> None:
    """In a thread of its own: a broker that does not answer is waited for several seconds."""
    work = partial(copy_context().run, send, task, ids)
    Thread(target=work, name=f"hand over {task.name}", daemon=True).start()


def send(task: Any, ids: Sequence[int]) -> None:
    """Sends it now; a queue that cannot be reached is logged."""
    try:
        for one in ids:
            task.apply_async([one], retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("the queue is out of reach (%s); made later", type(error).__name__)
