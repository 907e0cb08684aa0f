"""The queue of background work, as far as it can be looked at from outside."""

from __future__ import annotations

from typing import Any

from celery import current_app


def n_waiting() -> int:
    """Tasks that no worker has taken yet. Raises kombu's OperationalError or OSError."""
    with current_app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=3)
        channel: Any = connection.default_channel
        # Not a passive look: with a prefix, that one finds no queue on Redis. This makes nothing.
        declared = channel.queue_declare(queue=current_app.conf.task_default_queue)
        return int(declared.message_count)
