"""Searches of one run, within the rate of its person and address."""

from __future__ import annotations

from dataclasses import dataclass

from chat.accounts import limits, usage
from chat.agent.errors import SearchFailed
from chat.agent.ports import Searcher
from chat.agent.values import SearchOutcome
from chat.database import in_database


@dataclass(frozen=True, slots=True)
class LimitedSearcher:
    """A `Searcher` in front of another. One search too many fails, in words for the model."""

    searcher: Searcher
    owner_id: int
    address: str

    async def search(self, query: str, *, limit: int) -> SearchOutcome:
        wait = await in_database(self._take)()
        if wait:
            raise SearchFailed(
                "Not searched: there were too many searches in a short time. There is room again "
                f"in {limits.in_words(wait)}."
            )
        return await self.searcher.search(query, limit=limit)

    def _take(self) -> int:
        wait = limits.take_search(self.owner_id, self.address)
        if not wait:
            usage.add(self.owner_id, searches=1)
        return wait
