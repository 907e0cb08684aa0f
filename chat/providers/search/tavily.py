"""Tavily, a search service for agents, by key. API: docs.tavily.com"""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from chat.agent.values import SearchResult
from chat.providers.search.results import entries, search_results
from chat.providers.search.service import JsonService

_MAX_QUERY_CHARS = 400
_MAX_RESULTS = 20


class TavilyProvider:
    name = "Tavily"

    def __init__(self, *, key: str, base_url: str, client: httpx.AsyncClient) -> None:
        self._url = base_url.rstrip("/") + "/search"
        self._headers = {"Authorization": f"Bearer {key}"}
        self._service = JsonService(
            self.name, client, refused="Tavily did not accept the key: check LUMINA_TAVILY_KEY."
        )

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        wish = {"query": query[:_MAX_QUERY_CHARS], "max_results": min(limit, _MAX_RESULTS)}
        payload = await self._service.ask("POST", self._url, json=wish, headers=self._headers)
        rows = entries(payload, "results")
        return search_results(rows, limit=limit, text="content", published="published_date")
