"""The local library as a search provider, for one person."""

from __future__ import annotations

from collections.abc import Sequence

from channels.db import database_sync_to_async

from chat.agent.values import SearchResult
from chat.library.search import LibrarySearch

# One for the process: it keeps the indexes that it has made.
_search = LibrarySearch()


class LibraryProvider:
    name = "Your library"

    def __init__(self, owner_id: int, folder_id: int | None = None) -> None:
        """With `folder_id` that folder alone is searched."""
        self._owner_id = owner_id
        self._folder_id = folder_id

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        in_database = database_sync_to_async(_search.search)
        found: Sequence[SearchResult] = await in_database(
            self._owner_id, query, limit, self._folder_id
        )
        return found
