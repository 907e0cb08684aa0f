"""Asking a search service over HTTP: an object in JSON, or a sentence that says what to do."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx

from chat.agent.errors import SearchFailed

_MAX_BYTES = 3_000_000
_HEADERS = {
    "User-Agent": "Lumina/0.1 (self-hosted search agent)",
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
}


class RateLimited(SearchFailed):
    """The service wants a pause, of `rest_seconds` if it named a time."""

    def __init__(self, message: str, rest_seconds: float | None = None) -> None:
        super().__init__(message)
        self.rest_seconds = rest_seconds


def search_client(timeout_seconds: float) -> httpx.AsyncClient:
    """One for all services of a process. A proxy of the environment is used, as for any service
    that an operator has chosen; web pages are fetched elsewhere and without."""
    return httpx.AsyncClient(
        timeout=timeout_seconds, headers=_HEADERS, follow_redirects=False, verify=_trusted()
    )


@cache
def _trusted() -> ssl.SSLContext:
    """Reading the certificates takes longer than a search of a server nearby: once is enough."""
    return httpx.create_ssl_context()


class JsonService:
    """`refused` and `not_json` say what a person can do when the key or the form is not right."""

    def __init__(
        self,
        name: str,
        client: httpx.AsyncClient,
        *,
        refused: str,
        refused_statuses: frozenset[int] = frozenset({401, 403}),
        not_json: str = "",
    ) -> None:
        self._name = name
        self._client = client
        self._refused = refused
        self._refused_statuses = refused_statuses
        self._not_json = not_json or f"{name} answered something that is not JSON."

    async def ask(self, method: str, url: str, **options: Any) -> Mapping[str, Any]:
        """The answer's JSON object. `options` are those of httpx. Raises SearchFailed."""
        try:
            async with self._client.stream(method, url, **options) as response:
                self._check(response)
                body = await self._body(response)
        except httpx.TimeoutException as error:
            raise SearchFailed(f"{self._name} did not answer in time.") from error
        except httpx.ConnectError as error:
            host = httpx.URL(url).netloc.decode()
            raise SearchFailed(f"Nobody answers for {self._name} at {host}.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SearchFailed(f"{self._name} broke the connection off.") from error
        return self._object(body)

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if status in {202, 429}:
            raise RateLimited(
                f"{self._name} wants a pause: too many searches (HTTP {status}).",
                _rest_seconds(response.headers.get("retry-after", "")),
            )
        if status in self._refused_statuses:
            raise SearchFailed(f"{self._refused} (HTTP {status})")
        if status in {402, 432, 433}:
            raise SearchFailed(f"The credit at {self._name} is used up (HTTP {status}).")
        if 300 <= status < 400:
            elsewhere = response.headers.get("location", "elsewhere")[:200]
            raise SearchFailed(
                f"{self._name} has moved to {elsewhere}: set its final address as the URL."
            )
        if status != 200:
            raise SearchFailed(f"{self._name} has trouble (HTTP {status}).")

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MAX_BYTES:
                raise SearchFailed(f"{self._name} answered more than can be read.")
        return bytes(body)

    def _object(self, body: bytes) -> Mapping[str, Any]:
        if not body.strip():
            raise SearchFailed(f"{self._name} answered nothing.")
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise SearchFailed(self._not_json) from error
        if not isinstance(found, dict):
            raise SearchFailed(self._not_json)
        return found


def _rest_seconds(header: str) -> float | None:
    return float(header) if header.isdecimal() and len(header) < 7 else None
