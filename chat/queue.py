"""The queue of background work, as far as it can be looked at from outside."""

from __future__ import annotations

from typing import Any

from celery import current_app
from kombu.exceptions import ChannelError


def n_waiting() -> int:
    """Tasks that no worker has taken yet. Raises kombu's OperationalError or OSError."""
    with current_app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0.1, timeout=3)
        channel: Any = connection.default_channel
        name = current_app.conf.task_default_queue
        try:
            return int(channel.queue_declare(queue=name, passive=True).message_count)
        except ChannelError:
            return 0  # Redis keeps no empty queue
