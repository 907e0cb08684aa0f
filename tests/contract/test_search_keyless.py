"""Keyless search through the real library, its engine pointed at a server on loopback."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from ddgs.engines.duckduckgo import Duckduckgo

from chat.agent.errors import SearchFailed
from chat.agent.values import SearchResult
from chat.providers.search.keyless import KeylessProvider
from chat.providers.search.service import RateLimited
from tests.servers.search import Row, duckduckgo_answer
from tests.servers.web import Route, WebServer, gibberish, html_reply, reply, silence, web_server


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    with web_server() as server:
        monkeypatch.setattr(Duckduckgo, "search_url", f"{server.url}/html/")
        yield server


async def search(engine: WebServer, route: Route, limit: int = 5) -> list[SearchResult]:
    engine.default = route
    provider = KeylessProvider(timeout_seconds=3, engines=["duckduckgo"])
    return list(await provider.search("why does ice float?", limit=limit))


async def test_results_are_read_from_the_page(engine: WebServer) -> None:
    rows = [Row(title="Ice &amp; <b>water</b>"), Row(url="https://example.com/2")]
    found = await search(engine, duckduckgo_answer(rows))
    assert {result.url for result in found} == {"https://example.com/ice", "https://example.com/2"}
    assert "Ice & water" in {result.title for result in found}
    assert b"why+does+ice+float" in engine.requests[0].body


@pytest.mark.parametrize(
    "url",
    ["https://ja.wikipedia.org/wiki/%E6%B0%B7", "https://example.com/a%2Fb?x=1%262&ref=top#two"],
)
async def test_addresses_stay_as_they_are(engine: WebServer, url: str) -> None:
    found = await search(engine, duckduckgo_answer([Row(url=url)]))
    assert [result.url for result in found] == [url]


async def test_results_without_a_web_address_fall_out(engine: WebServer) -> None:
    rows = [Row(url="javascript:alert(1)"), Row(url="/relative"), Row(title="Good")]
    found = await search(engine, duckduckgo_answer(rows))
    assert [result.title for result in found] == ["Good"]


async def test_never_more_than_asked_for(engine: WebServer) -> None:
    rows = [Row(url=f"https://example.com/{n}") for n in range(9)]
    assert len(await search(engine, duckduckgo_answer(rows), limit=4)) == 4


@pytest.mark.parametrize("status", [202, 403, 429])
async def test_a_refusal_is_a_wish_for_a_pause_and_not_an_empty_result(
    engine: WebServer, status: int
) -> None:
    with pytest.raises(RateLimited, match=f"pause.*HTTP {status}"):
        await search(engine, reply(status, "<html>Unusual traffic</html>", "text/html"))


async def test_other_trouble_is_named(engine: WebServer) -> None:
    with pytest.raises(SearchFailed, match="HTTP 503"):
        await search(engine, reply(503, "<html>down</html>", "text/html"))


async def test_nothing_found_is_no_failure(engine: WebServer) -> None:
    assert await search(engine, html_reply("<html><body>No results.</body></html>")) == []


async def test_a_rude_engine_is_a_plain_failure(engine: WebServer) -> None:
    with pytest.raises(SearchFailed, match="cannot be reached"):
        await search(engine, gibberish)


async def test_a_silent_engine_is_given_up(engine: WebServer) -> None:
    engine.default = silence
    started = time.monotonic()
    with pytest.raises(SearchFailed, match="in time"):
        await KeylessProvider(timeout_seconds=1, engines=["duckduckgo"]).search("ice", limit=5)
    assert time.monotonic() - started < 3


async def test_nobody_there_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as gone:
        monkeypatch.setattr(Duckduckgo, "search_url", f"{gone.url}/html/")
    with pytest.raises(SearchFailed, match="cannot be reached"):
        await KeylessProvider(timeout_seconds=3, engines=["duckduckgo"]).search("ice", limit=5)
