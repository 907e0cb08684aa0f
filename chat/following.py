"""What one page hears of one conversation: the rest of each run it shows, and every new turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any

from django.db import DatabaseError
from django.template.loader import render_to_string

from chat import store
from chat.database import in_database
from chat.hub import Event, hub
from chat.models import Run, User
from chat.presenting import Put, TurnPresenter
from chat.runs import manager
from chat.turns import turn_of

logger = logging.getLogger("lumina.socket")

Send = Callable[[dict[str, Any]], Awaitable[None]]

LOOK_SECONDS = 1.0
FED_SECONDS = 15.0
IDLE_SECONDS = 300.0
LOOKS_BEFORE_SWEEP = 4
LOOKOUT_SECONDS = 5.0
LOOKOUT_RUNS = 500


class Lookout:
    """Looks for runs that have begun anywhere, once for all pages of this process. The nudges are
    quicker; this is for when they are lost."""

    def __init__(self) -> None:
        self._n_watching = 0
        self._looking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        self._n_watching += 1
        if self._n_watching == 1:
            self._looking = asyncio.create_task(self._look(), context=Context())
        try:
            yield
        finally:
            self._n_watching -= 1
            if not self._n_watching and self._looking:
                self._looking.cancel()

    async def _look(self) -> None:
        known: set[int] = set()
        while True:
            try:
                runs = await in_database(store.newest_runs)(LOOKOUT_RUNS)
            except DatabaseError as error:
                logger.warning("The database did not answer a look: %s", type(error).__name__)
            else:
                for run_id in runs.keys() - known if known else ():
                    hub.wake(runs[run_id])
                known = set(runs) or {0}
            await asyncio.sleep(LOOKOUT_SECONDS)


lookout = Lookout()


class Follower:
    """Reads the store after the last `seq` it has sent; what this process says is handed to it."""

    def __init__(
        self,
        owner: User,
        conversation_id: int,
        send: Send,
        *,
        runs: dict[int, int],
        newest_run: int,
    ) -> None:
        self.conversation_id = conversation_id
        self._owner = owner
        self._send = send
        self._known = runs
        self._newest_run = max([newest_run, *runs])
        self._open: dict[int, TurnPresenter] = {}
        self._quiet_looks = 0

    async def follow(self) -> None:
        """Goes on until it is cancelled."""
        async with lookout.watching(), hub.subscribed(self.conversation_id) as subscription:
            for run_id, seq in self._known.items():
                await self._catch_up(run_id, seq)
            await self._look()
            while True:
                events = await subscription.next(self._patience())
                if not await self._take(events):
                    await self._look()

    def _patience(self) -> float:
        """How long nothing may be heard before the store is asked: runs of this process are handed
        over, and those of others are announced, but an announcement can be lost."""
        if not self._open:
            return IDLE_SECONDS
        return FED_SECONDS if all(map(manager.drives, self._open)) else LOOK_SECONDS

    async def _take(self, events: list[Event]) -> bool:
        """Sends events that were handed over. False when the store must be asked as well."""
        for event in events:
            presenter = self._open.get(event["run"])
            if presenter is None or event["seq"] > presenter.seq + 1:
                return False
            if event["seq"] == presenter.seq + 1:
                await self._tell(presenter, event)
        return bool(events)

    async def _look(self) -> None:
        """Reads what is new in the store: events of open runs, then runs that have begun."""
        heard = False
        for run_id, presenter in tuple(self._open.items()):
            for event in await in_database(store.read_events)(run_id, presenter.seq):
                heard = True
                await self._tell(presenter, event)
        for run in await in_database(store.runs_after)(
            self._owner, self.conversation_id, self._newest_run
        ):
            heard = True
            await self._show(run)
        self._quiet_looks = 0 if heard else self._quiet_looks + 1
        if self._open and self._quiet_looks >= LOOKS_BEFORE_SWEEP:
            self._quiet_looks = 0
            await in_database(store.sweep_conversation)(self.conversation_id)

    async def _show(self, run: Run) -> None:
        """Sends a turn that has begun, as it stands now, and follows it."""
        self._newest_run = max(self._newest_run, run.pk)
        turn = await in_database(turn_of)(run)
        html = await in_database(render_to_string)(
            "chat/_turn.html", {"turn": turn, "conversation_id": self.conversation_id}
        )
        await self._send(
            {
                "type": "turn",
                "run": run.pk,
                "seq": turn.seq,
                "client_id": run.client_id,
                "follows": run.question.parent_id,
                "question": run.question_id,
                "html": html,
            }
        )
        if turn.is_running:
            await self._catch_up(run.pk, turn.seq)

    async def _catch_up(self, run_id: int, seq: int) -> None:
        """Follows a run of which the page has shown everything up to `seq`."""
        run = await in_database(store.own_run)(self._owner, self.conversation_id, run_id)
        if run is None:
            return
        presenter = TurnPresenter(run.answer_id, run.pk)
        self._open[run_id] = presenter
        for event in await in_database(store.read_events)(run_id):
            if event["seq"] <= seq:
                presenter.hear(event)
            else:
                await self._tell(presenter, event)
        if run.status != "running" and run_id in self._open and run.last_seq <= seq:
            del self._open[run_id]

    async def _tell(self, presenter: TurnPresenter, event: Event) -> None:
        puts = presenter.hear(event)
        if event["type"] == "run_finished":
            puts += await in_database(self._end)(event["run"])
            self._open.pop(event["run"], None)
        await self._send(_frame(event, puts))

    def _end(self, run_id: int) -> list[Put]:
        """The turn's lasting parts, now that sources are cited and the status is known."""
        run = store.run_with_parts(run_id)
        context = {"turn": turn_of(run), "conversation_id": self.conversation_id}
        return [
            ["set", f"{part}-{run.answer_id}", render_to_string(f"chat/_{part}.html", context)]
            for part in ("steps", "sources", "ending")
        ]


def _frame(event: Event, puts: list[Put]) -> dict[str, Any]:
    """An event for a page: its text travels once, in the puts."""
    frame = {key: value for key, value in event.items() if key != "text"}
    frame["puts"] = puts
    return frame
