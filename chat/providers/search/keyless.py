"""Web search without a key, over public engines' pages, through the library `ddgs`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from chat.agent.errors import SearchFailed
from chat.agent.values import SearchResult
from chat.providers.search.results import search_results
from chat.providers.search.service import RateLimited

# Wikipedia is a provider of its own; the others of the library's engines need no key either.
_ENGINES = ("duckduckgo", "brave", "mojeek", "startpage", "yahoo")
_PAUSE_STATUSES = {202, 403, 429}
_NOTHING = "No results found"


class TextSearch(Protocol):
    """What is asked of the library. `refusals` holds engines that answered, but not with 200."""

    @property
    def refusals(self) -> Mapping[str, int]: ...

    def text(self, query: str, **options: Any) -> list[dict[str, Any]]: ...


class KeylessProvider:
    name = "Web search without a key"

    def __init__(
        self,
        *,
        timeout_seconds: float = 6,
        engines: Sequence[str] = _ENGINES,
        new_client: Callable[[float], TextSearch] | None = None,
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._engines = ",".join(engines)
        self._new_client = new_client or _ddgs_client

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                rows = await asyncio.to_thread(self._rows, query, limit)
        except TimeoutError as error:
            raise SearchFailed(
                "The engines of the keyless search did not answer in time."
            ) from error
        return search_results(rows, limit=limit, url="href", text="body")

    def _rows(self, query: str, limit: int) -> list[dict[str, Any]]:
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        # Half of the time for one engine, so that a silent one leaves time for another.
        client = self._new_client(self._timeout_seconds / 2)
        try:
            return client.text(query, max_results=limit, backend=self._engines)
        except TimeoutException as error:
            raise SearchFailed(
                "The engines of the keyless search did not answer in time."
            ) from error
        except RatelimitException as error:
            raise RateLimited(_pause_sentence({})) from error
        except DDGSException as error:
            if any(status in _PAUSE_STATUSES for status in client.refusals.values()):
                raise RateLimited(_pause_sentence(client.refusals)) from error
            if client.refusals:
                raise SearchFailed(
                    f"The engines have trouble: {_listed(client.refusals)}."
                ) from error
            if _NOTHING in str(error):
                return []
            raise SearchFailed("The engines of the keyless search cannot be reached.") from error


def _pause_sentence(refusals: Mapping[str, int]) -> str:
    which = f" ({_listed(refusals)})" if refusals else ""
    return (
        f"The engines want a pause{which}: too many searches from this address. Wait a while, or"
        " set up SearXNG, Tavily or Brave."
    )


def _listed(refusals: Mapping[str, int]) -> str:
    return ", ".join(f"{engine}: HTTP {status}" for engine, status in sorted(refusals.items()))


def _ddgs_client(timeout_seconds: float) -> TextSearch:
    """The library's client, with two things that it hides put back.

    It drops the status of an answer, so that a refusal (DuckDuckGo answers 202) looks like no
    results; and it decodes percent escapes in addresses ("%2F" to "/"), which breaks some links.
    Imported late: the library brings a browser-like HTTP client that takes a while to load.
    """
    # Not from the package: there it is a stand-in that cannot be subclassed until it was used.
    from ddgs.ddgs import DDGS
    from ddgs.results import TextResult

    TextResult._normalizers = {
        name: change for name, change in TextResult._normalizers.items() if name != "href"
    }

    class Client(DDGS):
        def __init__(self) -> None:
            super().__init__(timeout=max(1, round(timeout_seconds)))
            self.refusals: dict[str, int] = {}

        def _get_engines(self, category: str, backend: str) -> list[Any]:
            engines: list[Any] = super()._get_engines(category, backend)
            for engine in engines:
                engine.request = self._noting(engine)
            return engines

        def _noting(self, engine: Any) -> Callable[..., str | None]:
            def request(*args: Any, **kwargs: Any) -> str | None:
                response = engine.http_client.request(*args, **kwargs)
                if response.status_code == 200:
                    return str(response.text)
                self.refusals[engine.name] = response.status_code
                return None

            return request

    return Client()
