"""SearXNG, a search engine that one hosts oneself. API: docs.searxng.org/dev/search_api.html"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from chat.agent.errors import SearchFailed
from chat.agent.values import SearchResult
from chat.providers.search.results import entries, search_results
from chat.providers.search.service import JsonService

_ENABLE_JSON = (
    "SearXNG does not give JSON: add json to search.formats in its settings.yml and restart it."
)


class SearxngProvider:
    name = "SearXNG"

    def __init__(self, *, base_url: str, client: httpx.AsyncClient) -> None:
        self._url = base_url.rstrip("/") + "/search"
        self._service = JsonService(
            self.name,
            client,
            refused=_ENABLE_JSON,
            refused_statuses=frozenset({403}),
            not_json=_ENABLE_JSON,
        )

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        payload = await self._service.ask("GET", self._url, params={"q": query, "format": "json"})
        rows = entries(payload, "results")
        found = search_results(rows, limit=limit, text="content", published="publishedDate")
        if not found and (engines := _silent_engines(payload)):
            raise SearchFailed(f"The engines of SearXNG did not answer: {engines}.")
        return found


def _silent_engines(payload: Mapping[str, Any]) -> str:
    """Names with reasons, from pairs such as ["google", "timeout"]."""
    listed = payload.get("unresponsive_engines")
    pairs = [pair for pair in listed if isinstance(pair, list)] if isinstance(listed, list) else []
    return ", ".join(f"{pair[0]} ({pair[1]})" for pair in pairs[:5] if len(pair) == 2)
