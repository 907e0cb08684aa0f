"""Reading many streams at once: what has come in one piece, and how long a read waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from chat.providers.models.paced import LONGEST_PACE_SECONDS, bursts, pace_of


async def stream(*parts: bytes | Exception | None) -> AsyncIterator[bytes]:
    """None is a pause, after which whoever reads has had its turn."""
    for part in parts:
        if isinstance(part, Exception):
            raise part
        if part is None:
            await asyncio.sleep(0.02)
        else:
            yield part


async def test_what_came_together_is_one_piece_and_what_came_later_another() -> None:
    heard = [one async for one in bursts(stream(b"a", b"b", None, b"c"))]
    assert heard == [b"ab", b"c"]


async def test_what_came_before_a_fault_is_given_first() -> None:
    received = bursts(stream(b"a", b"b", ConnectionResetError()))
    assert await anext(received) == b"ab"
    with pytest.raises(ConnectionResetError):
        await anext(received)


async def test_a_reader_that_leaves_ends_the_stream() -> None:
    ended = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"a"
                await asyncio.sleep(0)
        finally:
            ended.set()

    received = bursts(endless())
    await anext(received)
    await received.aclose()
    await asyncio.wait_for(ended.wait(), 1)


def test_a_few_streams_are_read_as_they_come_and_many_wait_a_little() -> None:
    paces = [pace_of(n) for n in range(500)]
    assert paces[1] == paces[8] == 0
    assert paces == sorted(paces)
    assert paces[-1] == LONGEST_PACE_SECONDS
