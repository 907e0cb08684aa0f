"""Wikipedia's own search, in the language of the question. API: mediawiki.org/wiki/API:Search"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from chat.agent.errors import SearchFailed
from chat.agent.values import SearchResult
from chat.providers.search.results import entries, plain_text, search_results
from chat.providers.search.service import JsonService, RateLimited

_MAX_QUERY_CHARS = 300
_MAX_RESULTS = 20


class WikipediaProvider:
    """`base_url` holds "{language}"; `language` fixes it, otherwise each question is looked at."""

    name = "Wikipedia"

    def __init__(
        self,
        *,
        base_url: str,
        client: httpx.AsyncClient,
        language_of: Callable[[str], str],
        language: str = "",
    ) -> None:
        self._base_url = base_url.rstrip("/") + "/w/api.php"
        self._language = language
        self._language_of = language_of
        self._service = JsonService(
            self.name, client, refused="Wikipedia refuses searches from this address."
        )

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        language = self._language or self._language_of(query)
        url = self._base_url.replace("{language}", language)
        payload = await self._service.ask("GET", url, params=_wish(query, limit))
        _raise_for_error(payload)
        pages = sorted(entries(payload, "query", "pages"), key=_position)
        # "pageprops" was asked for as the mark of a page that only lists others.
        rows = (page for page in pages if "pageprops" not in page)
        return search_results(rows, limit=limit, url="fullurl", text="extract")


def _wish(query: str, limit: int) -> dict[str, str | int]:
    return {
        "action": "query",
        "format": "json",
        "formatversion": 2,
        "generator": "search",
        "gsrsearch": query[:_MAX_QUERY_CHARS],
        "gsrlimit": min(limit, _MAX_RESULTS),
        "prop": "extracts|info|pageprops",
        "inprop": "url",
        "exintro": 1,
        "explaintext": 1,
        "exlimit": "max",
        "ppprop": "disambiguation",
        "redirects": 1,
    }


def _position(page: Mapping[str, Any]) -> int:
    index = page.get("index")
    return index if isinstance(index, int) else _MAX_RESULTS + 1


def _raise_for_error(payload: Mapping[str, Any]) -> None:
    error = payload.get("error")
    if not isinstance(error, dict):
        return
    if error.get("code") in {"ratelimited", "maxlag"}:
        raise RateLimited("Wikipedia wants a pause: too many searches.")
    reason = plain_text(error.get("info"))[:200] or "without a reason"
    raise SearchFailed(f"Wikipedia did not accept the search: {reason}")
