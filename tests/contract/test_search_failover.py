"""Providers in order: who is asked, who is passed over and why, and how long it may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from chat.agent.errors import SearchFailed
from chat.agent.values import PassedOver, SearchResult
from chat.providers.search.failover import FailoverSearcher
from chat.providers.search.service import RateLimited

ICE = SearchResult(title="Ice", url="https://example.com/ice", text="Ice floats.")


@dataclass
class Provider:
    """Answers with results, raises a failure, or takes its time."""

    name: str
    answer: Sequence[SearchResult] | SearchFailed = ()
    seconds: float = 0
    asked: list[str] = field(default_factory=list)

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        self.asked.append(query)
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, SearchFailed):
            raise self.answer
        return self.answer


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def test_the_first_with_results_wins_and_the_rest_are_not_asked() -> None:
    first, second = Provider("A", [ICE]), Provider("B", [ICE])
    outcome = await FailoverSearcher([first, second], timeout_seconds=1).search("ice", limit=5)
    assert (outcome.provider, outcome.results, outcome.passed_over) == ("A", (ICE,), ())
    assert second.asked == []


async def test_empty_refusing_and_slow_ones_are_passed_over_and_named() -> None:
    providers = [
        Provider("Empty"),
        Provider("Refusing", SearchFailed("The key was not accepted.")),
        Provider("Slow", [ICE], seconds=5),
        Provider("Good", [ICE]),
    ]
    started = time.monotonic()
    outcome = await FailoverSearcher(providers, timeout_seconds=0.1).search("ice", limit=5)
    assert time.monotonic() - started < 2
    assert outcome.provider == "Good"
    assert outcome.passed_over == (
        PassedOver("Empty", "Found nothing."),
        PassedOver("Refusing", "The key was not accepted."),
        PassedOver("Slow", "Did not answer in time."),
    )


async def test_no_results_and_the_reasons_are_an_outcome() -> None:
    providers = [Provider("A"), Provider("B", SearchFailed("Has trouble."))]
    outcome = await FailoverSearcher(providers, timeout_seconds=1).search("ice", limit=5)
    assert (outcome.provider, outcome.results) == ("", ())
    assert [passed.provider for passed in outcome.passed_over] == ["A", "B"]


async def test_who_wants_a_pause_gets_it_and_is_named() -> None:
    clock = Clock()
    tired, good = Provider("Tired", RateLimited("Wants a pause.")), Provider("Good", [ICE])
    searcher = FailoverSearcher([tired, good], timeout_seconds=1, rest_seconds=60, monotonic=clock)
    first = await searcher.search("ice", limit=5)
    assert first.passed_over == (PassedOver("Tired", "Wants a pause."),)
    clock.now += 20
    second = await searcher.search("ice", limit=5)
    assert second.passed_over[0].reason.startswith("Rests for 40 more seconds")
    assert len(tired.asked) == 1
    clock.now += 41
    tired.answer = [ICE]
    assert (await searcher.search("ice", limit=5)).provider == "Tired"


@pytest.mark.parametrize(("wish", "rest"), [(10.0, 10), (1e9, 3_600), (0.0, 60)])
async def test_a_pause_lasts_as_long_as_named_within_reason(wish: float, rest: float) -> None:
    clock = Clock()
    tired = Provider("Tired", RateLimited("Wants a pause.", wish))
    searcher = FailoverSearcher([tired], timeout_seconds=1, rest_seconds=60, monotonic=clock)
    await searcher.search("ice", limit=5)
    clock.now += rest - 1
    await searcher.search("ice", limit=5)
    assert len(tired.asked) == 1
    clock.now += 1
    await searcher.search("ice", limit=5)
    assert len(tired.asked) == 2


async def test_another_failure_earns_no_pause() -> None:
    broken = Provider("Broken", SearchFailed("Has trouble."))
    searcher = FailoverSearcher([broken], timeout_seconds=1)
    await searcher.search("ice", limit=5)
    await searcher.search("ice", limit=5)
    assert len(broken.asked) == 2


async def test_all_together_have_a_limit_too() -> None:
    providers = [Provider(str(n), [ICE], seconds=5) for n in range(20)]
    searcher = FailoverSearcher(providers, timeout_seconds=0.1, total_seconds=0.25)
    started = time.monotonic()
    outcome = await searcher.search("ice", limit=5)
    assert time.monotonic() - started < 1
    assert len(outcome.passed_over) == 20
    assert "time for searching was used up" in outcome.passed_over[-1].reason
    assert providers[-1].asked == []


async def test_a_run_that_is_stopped_stops_the_search() -> None:
    slow = Provider("Slow", [ICE], seconds=5)
    task = asyncio.create_task(FailoverSearcher([slow], timeout_seconds=5).search("ice", limit=5))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_empty_question_asks_nobody() -> None:
    provider = Provider("A", [ICE])
    outcome = await FailoverSearcher([provider], timeout_seconds=1).search(" \x00\n ", limit=5)
    assert (outcome.results, outcome.passed_over, provider.asked) == ((), (), [])


async def test_a_question_that_cannot_be_sent_is_mended() -> None:
    provider = Provider("A", [ICE])
    await FailoverSearcher([provider], timeout_seconds=1).search("why\x00\n ice \ud800?", limit=5)
    assert provider.asked == ["why ice ?"]


async def test_never_more_than_asked_for() -> None:
    provider = Provider("A", [ICE] * 9)
    outcome = await FailoverSearcher([provider], timeout_seconds=1).search("ice", limit=4)
    assert len(outcome.results) == 4
