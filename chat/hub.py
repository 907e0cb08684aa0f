"""Who listens to which conversation, within this process and, by nudges, in all the others.

The store holds the truth. A nudge only says that there is more to read, so one that is late,
lost or doubled harms nothing: readers also look by themselves once in a while.

A process has one ear on the channel layer, not one a socket, and names all conversations that have
changed within a tenth of a second in one nudge: what many answers at once cost the layer does not
grow with the tokens, nor with the pages that are open.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from typing import Any

from channels.layers import get_channel_layer

logger = logging.getLogger("lumina.hub")

ORIGIN = uuid.uuid4().hex
GROUP = "conversations"
NUDGE_EVERY_SECONDS = 0.1
NUDGE_SECONDS = 5.0
LISTEN_AGAIN_SECONDS = 2.0

Event = Mapping[str, Any]
Topic = int | str
"""What one can listen to: a conversation by its id, or a person's sessions by a name."""


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
        if not self._woken.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._woken.wait()
        self._woken.clear()
        events, self._events = self._events, []
        return events


class Hub:
    """The subscriptions of this process, by topic."""

    def __init__(self) -> None:
        self._subscriptions: dict[Topic, set[Subscription]] = defaultdict(set)
        self._changed: set[Topic] = set()
        self._nudging: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._is_heard = True

    @asynccontextmanager
    async def subscribed(self, topic: Topic) -> AsyncIterator[Subscription]:
        subscription = Subscription()
        self._subscriptions[topic].add(subscription)
        if is_over(self._listening):
            self._listening = asyncio.create_task(self._listen(), context=Context())
        try:
            yield subscription
        finally:
            self._subscriptions[topic].discard(subscription)
            if not self._subscriptions[topic]:
                del self._subscriptions[topic]
            if not self._subscriptions and self._listening:
                self._listening.cancel()
                self._listening = None

    def publish(self, topic: Topic, events: Sequence[Event] = ()) -> None:
        """Hands events to this process's readers and nudges those of other processes."""
        for subscription in tuple(self._subscriptions.get(topic, ())):
            subscription.feed(events)
        self._changed.add(topic)
        if is_over(self._nudging):
            self._nudging = asyncio.create_task(self._nudge(), context=Context())

    def wake(self, topic: Topic) -> None:
        """This process's readers of the topic look into the store."""
        for subscription in tuple(self._subscriptions.get(topic, ())):
            subscription.wake()

    async def settle(self) -> None:
        """Waits for the nudges that are under way, at the server's end."""
        while not is_over(self._nudging):
            assert self._nudging is not None
            await asyncio.gather(self._nudging, return_exceptions=True)

    async def _nudge(self) -> None:
        """One nudge is under way at a time: a slow broker delays nobody."""
        while self._changed:
            changed, self._changed = sorted(self._changed, key=str), set()
            await self.send_nudge(changed)
            await asyncio.sleep(NUDGE_EVERY_SECONDS)

    async def send_nudge(self, topics: Sequence[Topic]) -> None:
        """A broken layer costs promptness, never an answer: readers look by themselves as well."""
        message = {
            "type": "conversations.changed",
            "origin": ORIGIN,
            "topics": list(topics),
        }
        try:
            async with asyncio.timeout(NUDGE_SECONDS):
                await get_channel_layer().group_send(GROUP, message)
        except Exception as error:
            self._tell(error)
        else:
            self._tell(None)

    def _tell(self, error: Exception | None) -> None:
        """Logs when the layer goes away and when it is back, not each time it is missed."""
        if error and self._is_heard:
            kind = type(error).__name__
            logger.warning("No live updates through the channel layer: %s", kind)
        elif not error and not self._is_heard:
            logger.warning("Live updates go through the channel layer again")
        self._is_heard = error is None

    async def _listen(self) -> None:
        """Goes on until nobody is subscribed any more. A layer that is away is asked again."""
        while True:
            try:
                await self._hear_nudges(get_channel_layer())
            except Exception as error:
                self._tell(error)
            await asyncio.sleep(LISTEN_AGAIN_SECONDS)

    async def _hear_nudges(self, layer: Any) -> None:
        try:
            channel = await layer.new_channel()
            await layer.group_add(GROUP, channel)
            while True:
                self._hear(await layer.receive(channel))
        finally:
            with suppress(Exception):
                await layer.flush()  # nothing else of this process listens to the layer

    def _hear(self, message: Mapping[str, Any]) -> None:
        """A nudge from some process. What this process said itself has been fed already."""
        if message.get("origin") != ORIGIN:
            for topic in message.get("topics", ()):
                self.wake(topic)


def is_over(task: asyncio.Task[None] | None) -> bool:
    """Also a task of an event loop that has ended with it."""
    return task is None or task.done() or task.get_loop() is not asyncio.get_running_loop()


hub = Hub()
