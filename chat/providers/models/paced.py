"""Reading many slow streams at once: the more there are, the more of each is taken at a time.

A read costs the same for one token as for ten. A few streams are read as they come; with many, each
waits a little between two reads, and what arrives meanwhile waits in the kernel.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any
from urllib.request import getproxies

import httpcore2
import httpx2

UNPACED_STREAMS = 8
PACE_A_STREAM_SECONDS = 0.0015
LONGEST_PACE_SECONDS = 0.15
# As many as there are runs: one more must not wait until another ends.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100)


def pace_of(n_streams: int) -> float:
    """Seconds between two reads of one stream, of so many."""
    return min(LONGEST_PACE_SECONDS, max(0, n_streams - UNPACED_STREAMS) * PACE_A_STREAM_SECONDS)


def paced_client(
    pace: Callable[[], float], *, timeout: httpx2.Timeout, is_near: bool
) -> httpx2.AsyncClient:
    """A client that reads at that pace. One that goes through a proxy of the environment does not:
    a transport of our own would go past it."""
    direct = is_near or not getproxies()
    return httpx2.AsyncClient(
        timeout=timeout,
        trust_env=not is_near,
        follow_redirects=True,
        limits=_LIMITS,
        transport=_Transport(pace, trust_env=not is_near) if direct else None,
    )


async def bursts(stream: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """What has come since the last time, in one piece. Raises what the stream raises."""
    queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
    reading = asyncio.create_task(_read(stream, queue))
    try:
        while True:
            parts = [await queue.get()]
            while not queue.empty():
                parts.append(queue.get_nowait())
            if data := b"".join(part for part in parts if isinstance(part, bytes)):
                yield data
            if isinstance(parts[-1], Exception):
                raise parts[-1]
            if parts[-1] is None:
                return
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


async def _read(
    stream: AsyncIterator[bytes], queue: asyncio.Queue[bytes | Exception | None]
) -> None:
    try:
        async for data in stream:
            queue.put_nowait(data)
        queue.put_nowait(None)
    except Exception as error:
        queue.put_nowait(error)


class _Transport(httpx2.AsyncHTTPTransport):
    def __init__(self, pace: Callable[[], float], *, trust_env: bool) -> None:
        super().__init__()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=trust_env),
            max_connections=_LIMITS.max_connections,
            max_keepalive_connections=_LIMITS.max_keepalive_connections,
            keepalive_expiry=_LIMITS.keepalive_expiry,
            network_backend=_Backend(pace),
        )


class _Backend(httpcore2.AnyIOBackend):
    def __init__(self, pace: Callable[[], float]) -> None:
        self._pace = pace

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        connected = await super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _Stream(connected, self._pace)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that waits before a read when another one was made a moment ago."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream, pace: Callable[[], float]) -> None:
        self._inner, self._pace = inner, pace
        self._clock = asyncio.get_running_loop().time
        self._read_at = 0.0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if (pace := self._pace()) and (wait := self._read_at + pace - self._clock()) > 0:
            await asyncio.sleep(wait)
        data = await self._inner.read(max_bytes, timeout)
        self._read_at = self._clock()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        secured = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(secured, self._pace)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
