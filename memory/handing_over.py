"""Handing work to the background: after the commit, and never at the price of what is going on."""

from __future__ import annotations

import logging
from contextvars import copy_context
from functools import partial
from threading import Thread

from django.db import transaction
from kombu.exceptions import OperationalError

_log = logging.getLogger("lumina.memory")


def remember_later(message_id: int) -> None:
    """Have a message indexed once this transaction has committed."""
    transaction.on_commit(partial(_hand_over_beside, message_id))


def _hand_over_beside(message_id: int) -> None:
    """In a thread of its own: a broker that does not answer is waited for several seconds."""
    work = partial(copy_context().run, hand_over, message_id)
    Thread(target=work, name=f"hand over message {message_id}", daemon=True).start()


def hand_over(message_id: int) -> None:
    from memory.tasks import remember  # tasks know the service, which knows this

    try:
        remember.apply_async([message_id], retry=False)
    except (OperationalError, OSError) as error:
        # Nothing is lost: the periodic task, or the next recall, finds what is not indexed.
        _log.warning("the queue is out of reach (%s); indexed later", type(error).__name__)
