"""Search providers in order: the first with results wins, and nobody waits for the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from chat.agent.errors import SearchFailed
from chat.agent.ports import SearchProvider
from chat.agent.values import PassedOver, SearchOutcome, SearchResult
from chat.providers.search.service import RateLimited

NOTHING = "Found nothing."


class FailoverSearcher:
    """A `Searcher`. Keep one for the whole process: it remembers who asked for a pause.

    Each provider has `timeout_seconds`, all of them together `total_seconds`. One that asked for a
    pause is not asked again for the time that it named, or else for `rest_seconds`; no pause is
    longer than an hour.
    """

    def __init__(
        self,
        providers: Sequence[SearchProvider],
        *,
        timeout_seconds: float,
        total_seconds: float | None = None,
        rest_seconds: float = 120,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._providers = tuple(providers)
        self._timeout_seconds = timeout_seconds
        self._total_seconds = total_seconds or 3 * timeout_seconds
        self._rest_seconds = rest_seconds
        self._monotonic = monotonic
        self._rests_until: dict[str, float] = {}

    async def search(self, query: str, *, limit: int) -> SearchOutcome:
        wanted = _storable(query)
        ends_at = self._monotonic() + self._total_seconds
        passed_over: list[PassedOver] = []
        for provider in self._providers if wanted else ():
            try:
                results = await self._asked(provider, wanted, limit, ends_at)
            except SearchFailed as failure:
                passed_over.append(PassedOver(provider.name, str(failure)))
                continue
            if results:
                return SearchOutcome(
                    provider=provider.name, results=results, passed_over=tuple(passed_over)
                )
            passed_over.append(PassedOver(provider.name, NOTHING))
        return SearchOutcome(provider="", passed_over=tuple(passed_over))

    async def _asked(
        self, provider: SearchProvider, query: str, limit: int, ends_at: float
    ) -> Sequence[SearchResult]:
        now = self._monotonic()
        rests_for = self._rests_until.get(provider.name, now) - now
        if rests_for > 0:
            raise SearchFailed(f"Rests for {rests_for:.0f} more seconds after too many searches.")
        if now >= ends_at:
            raise SearchFailed("Was not asked: the time for searching was used up.")
        try:
            async with asyncio.timeout(min(self._timeout_seconds, ends_at - now)):
                return tuple(await provider.search(query, limit=limit))[:limit]
        except TimeoutError as error:
            raise SearchFailed("Did not answer in time.") from error
        except RateLimited as refusal:
            rest = min(refusal.rest_seconds or self._rest_seconds, 3_600)
            self._rests_until[provider.name] = self._monotonic() + rest
            raise


def _storable(query: str) -> str:
    """The question on one line, without characters that cannot be sent."""
    return " ".join(query.encode("utf-8", "ignore").decode().replace("\x00", "").split())
