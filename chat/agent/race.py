"""Waiting for work without losing sight of Stop and of the clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from chat.agent.ports import StopSignal

Item = TypeVar("Item")


class Stopped(Exception):
    """The person asked to stop."""


class OutOfTime(Exception):
    """The run's seconds are used up."""


async def guarded(
    stream: AsyncIterator[Item], *, stop: StopSignal, seconds_left: Callable[[], float]
) -> AsyncGenerator[Item, None]:
    """The stream's items. Raises Stopped or OutOfTime at once, in the middle of a wait too.

    However it ends, the stream is closed before this returns.
    """
    halt = asyncio.ensure_future(stop.wait())
    try:
        while True:
            step = asyncio.ensure_future(_next(stream))
            await _first(step, halt, stop, seconds_left)
            try:
                item = step.result()
            except StopAsyncIteration:
                return
            yield item
    finally:
        halt.cancel()
        close = getattr(stream, "aclose", None)
        if close:
            await close()


async def gathered(
    jobs: list[Coroutine[Any, Any, Item]],
    *,
    stop: StopSignal,
    seconds_left: Callable[[], float],
) -> AsyncGenerator[tuple[int, Item], None]:
    """Runs the jobs at once; gives (index, result) as each is done. Raises as `guarded` does."""
    tasks = {asyncio.ensure_future(job): index for index, job in enumerate(jobs)}
    halt = asyncio.ensure_future(stop.wait())
    open_tasks = set(tasks)
    try:
        while open_tasks:
            await _wait([*open_tasks, halt], seconds_left())
            done = {task for task in open_tasks if task.done()}
            if halt.done() or stop.is_set():
                raise Stopped
            if not done:
                raise OutOfTime
            for task in sorted(done, key=tasks.__getitem__):
                open_tasks.discard(task)
                yield tasks[task], task.result()
    finally:
        halt.cancel()
        for task in open_tasks:
            task.cancel()
        await asyncio.gather(*open_tasks, return_exceptions=True)


async def _wait(work: Sequence[asyncio.Future[Any]], seconds: float) -> None:
    """Until the first is done, or the time is over."""
    await asyncio.wait(work, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


async def _next(stream: AsyncIterator[Item]) -> Item:
    return await anext(stream)


async def _first(
    step: asyncio.Future[Item],
    halt: asyncio.Future[object],
    stop: StopSignal,
    seconds_left: Callable[[], float],
) -> None:
    """Waits for the step. When Stop or the deadline comes first, ends it and raises."""
    left = seconds_left()
    if not (stop.is_set() or left <= 0):
        await _wait([step, halt], left)
    if step.done() and not stop.is_set():
        return
    step.cancel()
    with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
        await step
    raise Stopped if stop.is_set() or halt.done() else OutOfTime
