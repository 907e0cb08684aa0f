"""Reading one page: redirects, limits, text. See the package for what it promises."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpcore
import httpx

from chat.agent.errors import PageFailed, PageRefused
from chat.agent.values import Page
from chat.providers.fetch.addresses import is_public
from chat.providers.fetch.door import (
    AddressRule,
    AllowedHosts,
    GuardedBackend,
    Resolver,
    checked_url,
    port_of,
    system_resolver,
)
from chat.providers.fetch.text import Fetched, Readable, readable, refuse_unreadable

_MAX_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}
_CONNECT_SECONDS = 5
_EXTRACT_SECONDS = 10
_HEADERS: dict[bytes | str, bytes | str] = {
    "User-Agent": "Mozilla/5.0 (compatible; Lumina/0.1; self-hosted search agent)",
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/markdown,text/plain,*/*;q=0.1",
    # One encoding, undone here, so that its growth can be measured while it happens.
    "Accept-Encoding": "gzip",
}
_SENTENCES = {
    401: "wants a sign-in before it shows this page",
    402: "wants payment before it shows this page",
    403: "refuses to be read by programs",
    404: "has no page at this address",
    410: "has taken this page away",
    429: "is being asked too often; wait a while",
    451: "may not show this page for legal reasons",
}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class GuardedReader:
    """A `PageReader` over the guarded door. One for the whole process; safe to use concurrently.

    `allowed_hosts` names hosts (`host` or `host:port`) that may be private. `max_bytes` counts
    decoded bytes. `timeout_seconds` is for the whole way, redirects included; turning what came
    into text has ten seconds of its own.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Iterable[str] = (),
        timeout_seconds: float = 15,
        max_bytes: int = 5_000_000,
        resolver: Resolver = system_resolver,
        address_rule: AddressRule = is_public,
        ssl_context: ssl.SSLContext | None = None,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._allowed = AllowedHosts(allowed_hosts)
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._backend = GuardedBackend(
            allowed=self._allowed, resolver=resolver, is_public=address_rule
        )
        self._ssl_context = ssl_context or httpx.create_ssl_context()
        self._now = now
        # Its own threads: a parser that hangs must not take those that others need.
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="page-text")

    async def read(self, url: str) -> Page:
        fetched = await self._within_time(url.strip())
        found = await self._extracted(fetched)
        return Page(
            url=fetched.url,
            title=found.title,
            text=found.text,
            read_at=self._now(),
            language=found.language,
        )

    async def _within_time(self, url: str) -> Fetched:
        host = checked_url(url, self._allowed).host
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._followed(url)
        except TimeoutError as error:
            seconds = f"{self._timeout_seconds:g}"
            raise PageFailed(f"{host} did not give the page within {seconds} seconds.") from error

    async def _followed(self, url: str) -> Fetched:
        pool = httpcore.AsyncConnectionPool(
            ssl_context=self._ssl_context, network_backend=self._backend, http2=False
        )
        async with pool:
            for _ in range(_MAX_REDIRECTS + 1):
                answer = await self._asked(pool, url)
                if isinstance(answer, Fetched):
                    return answer
                url = answer
        raise PageFailed(f"The page redirects more than {_MAX_REDIRECTS} times.")

    async def _asked(self, pool: httpcore.AsyncConnectionPool, url: str) -> Fetched | str:
        """What the address holds, or the address that it redirects to."""
        parts = checked_url(url, self._allowed)
        try:
            async with pool.stream(
                "GET",
                _core_url(parts),
                headers={"Host": parts.netloc, **_HEADERS},
                extensions={"timeout": {"connect": _CONNECT_SECONDS}},
            ) as response:
                return await self._answer(url, parts, response)
        except (httpcore.TimeoutException, httpcore.NetworkError) as error:
            raise PageFailed(_connection_sentence(parts.host, error)) from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise PageFailed(f"{parts.host} broke the answer off or sent no web page.") from error

    async def _answer(
        self, url: str, parts: httpx.URL, response: httpcore.Response
    ) -> Fetched | str:
        headers = _Headers(response)
        if response.status in _REDIRECTS and headers.get("location"):
            return _joined(parts, headers.get("location"))
        if not 200 <= response.status < 300:
            trouble = f"has trouble (HTTP {response.status})"
            raise PageFailed(f"{parts.host} {_SENTENCES.get(response.status, trouble)}.")
        content_type = headers.get("content-type")
        refuse_unreadable(content_type)
        chunks = _decompressed(response, headers.get("content-encoding"), self._max_bytes)
        return Fetched(url, content_type, await self._collected(parts.host, headers, chunks))

    async def _collected(self, host: str, headers: _Headers, chunks: AsyncIterator[bytes]) -> bytes:
        too_large = PageFailed(
            f"The page of {host} is larger than {self._max_bytes / 1_000_000:g} MB."
        )
        announced = headers.get("content-length")
        if announced.isdecimal() and int(announced) > self._max_bytes:
            raise too_large
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > self._max_bytes:
                raise too_large
        return bytes(body)

    async def _extracted(self, fetched: Fetched) -> Readable:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_EXTRACT_SECONDS):
                return await loop.run_in_executor(self._threads, readable, fetched)
        except TimeoutError as error:
            raise PageFailed(f"The page of {fetched.host} is too complex to read.") from error


class _Headers:
    def __init__(self, response: httpcore.Response) -> None:
        self._values = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }

    def get(self, name: str) -> str:
        return self._values.get(name, "").strip()


async def _decompressed(
    response: httpcore.Response, encoding: str, max_bytes: int
) -> AsyncIterator[bytes]:
    """Pieces of the decoded body, never much more than `max_bytes` in one piece."""
    if encoding.lower() not in {"", "identity", "gzip", "x-gzip"}:
        raise PageFailed(f"The page is compressed in a way that was not asked for ({encoding}).")
    inflate = None if encoding.lower() in {"", "identity"} else zlib.decompressobj(wbits=31)
    async for chunk in response.aiter_stream():
        if inflate is None:
            yield chunk
            continue
        try:
            yield inflate.decompress(chunk, max_bytes + 1)
        except zlib.error as error:
            raise PageFailed("The page is damaged: it does not decompress.") from error


def _core_url(parts: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=parts.raw_scheme, host=parts.raw_host, port=port_of(parts), target=parts.raw_path
    )


def _joined(parts: httpx.URL, location: str) -> str:
    try:
        return str(parts.join(location))
    except (httpx.InvalidURL, ValueError) as error:
        raise PageRefused("The page redirects to something that is not a web address.") from error


def _connection_sentence(host: str, error: Exception) -> str:
    if isinstance(error, httpcore.TimeoutException):
        return f"{host} does not answer."
    if "CERTIFICATE" in str(error).upper():
        return f"The certificate of {host} cannot be trusted."
    if isinstance(error, httpcore.ConnectError):
        return f"Nobody answers at {host}."
    return f"{host} broke the connection off."
