"""Driving runs: from the core's events to stored ones, with a heartbeat, Stop and an honest end.

A run belongs to the conversation: it is a task of the web process and goes on when no one looks.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from contextvars import Context
from dataclasses import dataclass, field
from itertools import count

from django.db import DatabaseError

from chat import metrics, store
from chat.agent.events import (
    AgentEvent,
    FollowupsSuggested,
    RunFinished,
    TextAdded,
    event_data,
)
from chat.agent.loop import run_turn
from chat.answer_text import AnswerText
from chat.database import in_database
from chat.endings import ending_of
from chat.hub import hub
from chat.journal import Journal, patiently
from chat.logs import fields, request_id
from chat.models import Run
from chat.tracing import Span
from chat.turn_record import TurnRecord
from chat.wiring import Prepared, prepare_run

logger = logging.getLogger("lumina.runs")

FLUSH_SECONDS = 0.2
LOOK_SECONDS = 0.25
LOOKS_A_BEAT = 6
BROKEN = (
    "Something went wrong inside Lumina; the server's log has the details. "
    "Nothing of your question is lost: try again."
)


# An event, the fault that ended the events, or None after the last one.
_Queued = AgentEvent | BaseException | None


@dataclass(slots=True)
class _Running:
    task: asyncio.Task[None]
    stop: asyncio.Event


class RunManager:
    """The runs of this process. One watcher beats the heart of all and looks for their Stop."""

    def __init__(self) -> None:
        self._running: dict[int, _Running] = {}
        self._watcher: asyncio.Task[None] | None = None

    def start(self, run_id: int) -> asyncio.Task[None]:
        """Drives the run in a task of its own; its end is in the store.

        The task begins with an empty context: the one of a request holds an executor that ends
        with the request.
        """
        stop = asyncio.Event()
        context = Context()
        context.run(request_id.set, request_id.get())
        task = asyncio.create_task(_drive(run_id, stop), name=f"run {run_id}", context=context)
        self._running[run_id] = _Running(task, stop)
        metrics.ACTIVE_RUNS.inc()
        task.add_done_callback(lambda ended: self._ended(run_id, ended))
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch(), context=Context())
        return task

    def _ended(self, run_id: int, task: asyncio.Task[None]) -> None:
        self._running.pop(run_id, None)
        metrics.ACTIVE_RUNS.dec()
        if not task.cancelled() and (error := task.exception()):
            logger.error("A run could not be ended", exc_info=error, extra=fields(run=run_id))

    def drives(self, run_id: int) -> bool:
        return run_id in self._running

    def stop(self, run_id: int) -> None:
        """Prompt for a run of this process; the mark in the store reaches those of others."""
        if run_id in self._running:
            self._running[run_id].stop.set()

    async def shutdown(self) -> None:
        """Ends every run of this process as interrupted, with the text that it has."""
        tasks = [running.task for running in self._running.values()]
        tasks += [self._watcher] if self._watcher else []
        # One that has ended may belong to an event loop that has ended with it.
        going = [task for task in tasks if not task.done()]
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
        self._watcher = None
        await hub.settle()

    async def _watch(self) -> None:
        """Goes on as long as there is a run. A database that is away is asked again later."""
        for look in count(1):
            await asyncio.sleep(LOOK_SECONDS)
            if not self._running:
                return
            try:
                if look % LOOKS_A_BEAT == 0:
                    await in_database(store.beat)(tuple(self._running))
                for run_id in await in_database(store.to_stop)(tuple(self._running)):
                    self.stop(run_id)
            except DatabaseError as error:
                logger.warning("The database did not answer a look: %s", type(error).__name__)


manager = RunManager()
journal = Journal()


async def _drive(run_id: int, stop: asyncio.Event) -> None:
    record = TurnRecord()
    run = await in_database(store.run_with_parts)(run_id)
    ids = {"run": run_id, "conversation": run.conversation_id, "owner": run.owner_id}
    span = Span("turn", ids | {"request": request_id.get() or None})
    driver = _Driver(run, record, span)
    try:
        prepared = await prepare_run(run)
        await driver.drive(prepared, stop)
    except store.RunLost:
        logger.warning("A run was ended by another process", extra=fields(run=run_id))
        driver.status = "lost"
    except asyncio.CancelledError:
        await in_database(store.interrupt)(run_id)
        driver.status = "interrupted"
        raise
    except Exception:
        logger.exception("A run failed inside", extra=fields(run=run_id))
        await driver.fail(BROKEN)
    finally:
        hub.publish(run.conversation_id)
        outcome = {"status": driver.status, **record.fields(), "events": driver.last_seq}
        logger.info("turn", extra=fields(**ids, **outcome))
        metrics.count_turn(driver.status, record)
        span.end(outcome, failed=driver.status == "failed")


@dataclass(slots=True)
class _Driver:
    """Takes the events of one run to the store and to whoever listens."""

    run: Run
    record: TurnRecord
    span: Span
    last_seq: int = 0
    status: str = "running"
    _answer: AnswerText = field(default_factory=AnswerText)
    _followups: Sequence[str] = ()

    async def drive(self, prepared: Prepared, stop: asyncio.Event) -> None:
        events = run_turn(prepared.turn, prepared.means, stop)
        async with aclosing(_batched(events)) as batches:
            async for batch in batches:
                self._hear(batch)
                self.record.hear(batch)
                self.span.hear(batch)
                *before, last = batch
                if not isinstance(last, RunFinished):
                    await self._tell(batch)
                    continue
                if before:
                    await self._tell(before)
                await self._end(last, prepared)

    async def fail(self, reason: str) -> None:
        """Ends the run as failed, with the text that was there, unless it has ended already."""
        with suppress(store.RunLost):
            await self._end(RunFinished(status="failed", reason=reason), None)

    async def _tell(self, batch: list[AgentEvent]) -> None:
        told = await journal.add(self.run.pk, self.last_seq, batch)
        self.last_seq += len(told)
        hub.publish(self.run.conversation_id, told)

    async def _end(self, finished: RunFinished, prepared: Prepared | None) -> None:
        given = (self.run, self._answer, self._followups, finished, prepared)
        ending, last = await patiently(ending_of, *given)
        told = await patiently(store.end_run, self.run.pk, self.last_seq, last, ending)
        self.last_seq += len(told)
        self.status = ending.status
        hub.publish(self.run.conversation_id, told)

    def _hear(self, batch: list[AgentEvent]) -> None:
        for event in batch:
            self._answer.hear(event.type, event_data(event))
            if isinstance(event, FollowupsSuggested):
                self._followups = event.questions


async def _batched(
    events: AsyncGenerator[AgentEvent, None],
) -> AsyncGenerator[list[AgentEvent], None]:
    """Events in batches: the first text of a pause at once, then text every `FLUSH_SECONDS`,
    everything else as it comes. Neighbouring pieces of text become one event."""
    queue: asyncio.Queue[_Queued] = asyncio.Queue(maxsize=1_000)
    pump = asyncio.create_task(_pump(events, queue))
    flushed_at = 0.0
    try:
        while (first := await queue.get()) is not None:
            batch = [_event(first)]
            until = flushed_at + FLUSH_SECONDS
            while isinstance(batch[-1], TextAdded) and (left := until - time.monotonic()) > 0:
                try:
                    async with asyncio.timeout(left):
                        more = await queue.get()
                except TimeoutError:
                    break
                if more is None:
                    await queue.put(None)
                    break
                _add(batch, _event(more))
            while isinstance(batch[-1], TextAdded) and not queue.empty():
                more = queue.get_nowait()
                if more is None:
                    queue.put_nowait(None)
                    break
                _add(batch, _event(more))
            flushed_at = time.monotonic()
            yield batch
    finally:
        pump.cancel()
        with suppress(asyncio.CancelledError):
            await pump


async def _pump(
    events: AsyncGenerator[AgentEvent, None],
    queue: asyncio.Queue[_Queued],
) -> None:
    try:
        async with aclosing(events) as stream:
            async for event in stream:
                await queue.put(event)
        await queue.put(None)
    except Exception as error:
        await queue.put(error)


def _event(item: _Queued) -> AgentEvent:
    if isinstance(item, BaseException):
        raise item
    assert item is not None
    return item


def _add(batch: list[AgentEvent], event: AgentEvent) -> None:
    last = batch[-1]
    if isinstance(last, TextAdded) and isinstance(event, TextAdded):
        batch[-1] = TextAdded(last.text + event.text)
    else:
        batch.append(event)
