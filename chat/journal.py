"""The way of a run's events into the store: those of all runs of a process in one transaction.

Whoever adds waits until its events are stored. While a transaction is under way the next events of
all runs gather, so the busier the process, the more go into one: the cost of a transaction is
shared, and nobody waits for a timer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from django.db import InterfaceError, OperationalError

from chat import store
from chat.agent.events import AgentEvent
from chat.database import in_database
from chat.hub import is_over

logger = logging.getLogger("lumina.runs")

AWAY_SECONDS = 20.0
TRY_AGAIN_SECONDS = 0.5

Told = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Entry:
    append: store.Append
    stored: asyncio.Future[Told]


class Journal:
    """Adds the events of the runs of one event loop."""

    def __init__(self) -> None:
        self._waiting: list[_Entry] = []
        self._writing: asyncio.Task[None] | None = None

    async def add(self, run_id: int, last_seq: int, events: Sequence[AgentEvent]) -> Told:
        """Stores the events after `last_seq`; returns them as every reader gets them.

        Raises RunLost as `store.append_events` does. A database that is away is waited for.
        """
        stored: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Entry(store.Append(run_id, last_seq, events), stored))
        if is_over(self._writing):
            self._writing = asyncio.create_task(self._write(), context=Context())
        return await stored

    async def _write(self) -> None:
        while self._waiting:
            entries, self._waiting = self._waiting, []
            try:
                outcomes = await patiently(store.append_all, [one.append for one in entries])
            except Exception as error:
                outcomes = [error] * len(entries)
            for entry, outcome in zip(entries, outcomes, strict=True):
                _settle(entry.stored, outcome)


def _settle(stored: asyncio.Future[Told], outcome: Told | Exception) -> None:
    if stored.done():  # whoever waited was cancelled
        return
    if isinstance(outcome, Exception):
        stored.set_exception(outcome)
    else:
        stored.set_result(outcome)


async def patiently(work: Any, *arguments: Any) -> Any:
    """Does work in the database, again and again while the database is away, for a while.

    The work must be one transaction that finds out by itself that it has been done already.
    """
    until = time.monotonic() + AWAY_SECONDS
    while True:
        try:
            return await in_database(work)(*arguments)
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() > until:
                raise
            logger.warning("The database is away, its runs wait: %s", type(error).__name__)
        await asyncio.sleep(TRY_AGAIN_SECONDS)
