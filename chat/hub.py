"""Who listens to which conversation, within this process and, by nudges, in all the others.

The store holds the truth. A nudge only says that there is more to read, so one that is late,
lost or doubled harms nothing: readers also look by themselves once in a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from channels.layers import get_channel_layer

logger = logging.getLogger("lumina.hub")

Event = Mapping[str, Any]


def group_name(conversation_id: int) -> str:
    return f"conversation.{conversation_id}"


class Subscription:
    """What has happened in a conversation since one last looked.

    `events` are those of runs in this process, handed over directly; `woken` without events means
    that there may be something in the store.
    """

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._woken = asyncio.Event()

    def feed(self, events: Sequence[Event]) -> None:
        self._events.extend(events)
        self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    async def next(self, timeout_seconds: float) -> list[Event]:
        """The events fed so far, after the next wake or when the time is over."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()
        events, self._events = self._events, []
        return events


class Hub:
    """The subscriptions of this process, by conversation."""

    def __init__(self) -> None:
        self._subscriptions: dict[int, set[Subscription]] = defaultdict(set)

    @asynccontextmanager
    async def subscribed(self, conversation_id: int) -> AsyncIterator[Subscription]:
        subscription = Subscription()
        self._subscriptions[conversation_id].add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions[conversation_id].discard(subscription)
            if not self._subscriptions[conversation_id]:
                del self._subscriptions[conversation_id]

    async def publish(self, conversation_id: int, events: Sequence[Event]) -> None:
        """Hands events to this process's readers and nudges the others."""
        for subscription in tuple(self._subscriptions.get(conversation_id, ())):
            subscription.feed(events)
        await nudge(conversation_id)

    def wake(self, conversation_id: int) -> None:
        for subscription in tuple(self._subscriptions.get(conversation_id, ())):
            subscription.wake()


async def nudge(conversation_id: int) -> None:
    """Tells the other processes to look. A broken layer costs promptness, never an answer."""
    layer = get_channel_layer()
    try:
        await layer.group_send(group_name(conversation_id), {"type": "conversation.changed"})
    except Exception as error:
        logger.warning("No live updates through the channel layer: %s", type(error).__name__)


hub = Hub()
