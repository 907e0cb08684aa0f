"""Who listens to which conversation, within this process and, by nudges, in all the others.

The store holds the truth. A nudge only says that there is more to read, so one that is late,
lost or doubled harms nothing: readers also look by themselves once in a while.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any

from channels.layers import get_channel_layer

logger = logging.getLogger("lumina.hub")

ORIGIN = uuid.uuid4().hex
NUDGE_SECONDS = 5.0

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
        self._nudging: dict[int, asyncio.Task[None]] = {}
        self._nudge_again: set[int] = set()

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

    def publish(self, conversation_id: int, events: Sequence[Event] = ()) -> None:
        """Hands events to this process's readers and nudges those of other processes."""
        for subscription in tuple(self._subscriptions.get(conversation_id, ())):
            subscription.feed(events)
        self._nudge(conversation_id)

    def _nudge(self, conversation_id: int) -> None:
        """One nudge of a conversation is under way at a time: a slow broker delays nobody."""
        if conversation_id in self._nudging:
            self._nudge_again.add(conversation_id)
            return
        task = asyncio.create_task(_send_nudge(conversation_id), context=Context())
        self._nudging[conversation_id] = task
        task.add_done_callback(lambda _: self._nudged(conversation_id))

    def _nudged(self, conversation_id: int) -> None:
        self._nudging.pop(conversation_id, None)
        if conversation_id in self._nudge_again:
            self._nudge_again.discard(conversation_id)
            self._nudge(conversation_id)

    async def settle(self) -> None:
        """Waits for the nudges that are under way, at the server's end."""
        while self._nudging:
            await asyncio.gather(*self._nudging.values(), return_exceptions=True)


async def _send_nudge(conversation_id: int) -> None:
    """A broken layer costs promptness, never an answer: readers look by themselves as well."""
    message = {"type": "conversation.changed", "origin": ORIGIN}
    try:
        async with asyncio.timeout(NUDGE_SECONDS):
            await get_channel_layer().group_send(group_name(conversation_id), message)
    except Exception as error:
        logger.warning("No live updates through the channel layer: %s", type(error).__name__)


hub = Hub()
