"""Brave Search, by key. API: api-dashboard.search.brave.com/app/documentation"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from chat.agent.values import SearchResult
from chat.providers.search.results import entries, search_results
from chat.providers.search.service import JsonService

_MAX_QUERY_CHARS = 400
_MAX_QUERY_WORDS = 50
_MAX_RESULTS = 20


class BraveProvider:
    name = "Brave Search"

    def __init__(self, *, key: str, base_url: str, client: httpx.AsyncClient) -> None:
        self._url = base_url.rstrip("/") + "/res/v1/web/search"
        self._headers = {"X-Subscription-Token": key}
        self._service = JsonService(
            self.name,
            client,
            refused_statuses=frozenset({401, 403, 422}),
            refused="Brave Search did not accept the key: check LUMINA_BRAVE_KEY.",
        )

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        wish = {"q": _short(query), "count": min(limit, _MAX_RESULTS), "result_filter": "web"}
        payload = await self._service.ask("GET", self._url, params=wish, headers=self._headers)
        rows = ({**row, "extract": _extract(row)} for row in entries(payload, "web", "results"))
        return search_results(rows, limit=limit, text="extract", published="page_age")


def _short(query: str) -> str:
    return " ".join(query.split()[:_MAX_QUERY_WORDS])[:_MAX_QUERY_CHARS]


def _extract(entry: Mapping[str, Any]) -> str:
    """The description with the further extracts that some plans give."""
    more = entry.get("extra_snippets")
    parts = [entry.get("description"), *(more if isinstance(more, list) else [])]
    return " ".join(part for part in parts if isinstance(part, str))
