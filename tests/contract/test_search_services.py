"""What every search service must hold to, over real HTTP on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from chat.agent.errors import SearchFailed
from chat.agent.ports import SearchProvider
from chat.agent.values import SearchResult
from chat.library.language import language_of
from chat.providers.search.brave import BraveProvider
from chat.providers.search.searxng import SearxngProvider
from chat.providers.search.service import RateLimited, search_client
from chat.providers.search.wikipedia import WikipediaProvider
from tests.servers.search import SERVICES, Row, Service
from tests.servers.web import (
    Route,
    WebServer,
    flood,
    gibberish,
    hang_up,
    html_reply,
    json_reply,
    redirect,
    reply,
    silence,
    web_server,
)


@pytest.fixture(params=SERVICES, ids=lambda service: service.name)
def service(request: pytest.FixtureRequest) -> Service:
    return request.param


@pytest.fixture
def site() -> Iterator[WebServer]:
    with web_server() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with search_client(0.5) as opened:
        yield opened


@pytest.fixture
def provider(service: Service, site: WebServer, client: httpx.AsyncClient) -> SearchProvider:
    return service.build(site, client)


class TestEveryService:
    async def found(
        self,
        site: WebServer,
        service: Service,
        provider: SearchProvider,
        *rows: Row,
        limit: int = 5,
    ) -> list[SearchResult]:
        site.routes[service.path] = service.answer(rows)
        return list(await provider.search("why does ice float?", limit=limit))

    async def failure(
        self, site: WebServer, service: Service, provider: SearchProvider, route: Route
    ) -> SearchFailed:
        site.routes[service.path] = route
        with pytest.raises(SearchFailed) as caught:
            await provider.search("ice", limit=5)
        assert len(str(caught.value)) > 20
        return caught.value

    async def test_results_come_in_the_order_of_the_service(
        self, site: WebServer, service: Service, provider: SearchProvider
    ) -> None:
        rows = [Row(title=f"T{n}", url=f"https://example.com/{n}") for n in range(3)]
        found = await self.found(site, service, provider, *rows)
        assert [(result.title, result.url) for result in found] == [
            (row.title, row.url) for row in rows
        ]
        assert found[0].text == "Ice is less dense than water."
        assert service.query_of(site.requests[0]) == "why does ice float?"

    @pytest.mark.parametrize(
        "url",
        [
            "https://ja.wikipedia.org/wiki/%E6%B0%B7",
            "https://example.com/a%2Fb?x=1%262&ref=top#part%20two",
            "HTTP://Example.com:80/Über?q=a b".replace(" ", "+"),
            "https://example.com/?utm_source=x&id=1",
        ],
    )
    async def test_addresses_stay_as_they_are(
        self, site: WebServer, service: Service, provider: SearchProvider, url: str
    ) -> None:
        found = await self.found(site, service, provider, Row(url=url))
        assert [result.url for result in found] == [url]

    @pytest.mark.parametrize(
        "url",
        [
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://example.com/x",
            "/relative",
            "//example.com/x",
            "https://",
            "https://[broken/",
            "https://example.com/a b",
            "https://example.com/\u202ereversed",
            "",
            None,
            7,
        ],
    )
    async def test_results_without_a_web_address_fall_out(
        self, site: WebServer, service: Service, provider: SearchProvider, url: Any
    ) -> None:
        found = await self.found(site, service, provider, Row(url=url), Row(title="Good"))
        assert [result.title for result in found] == ["Good"]

    async def test_titles_and_extracts_are_plain_text(
        self, site: WebServer, service: Service, provider: SearchProvider
    ) -> None:
        row = Row(
            title="Why <strong>ice</strong> floats &amp; sinks",
            text="<p>Less\n dense</p> than&nbsp;water &lt; 4 °C<script>steal()</script>",
        )
        (result,) = await self.found(site, service, provider, row)
        assert result.title == "Why ice floats & sinks"
        assert result.text == "Less dense than water < 4 °C"

    async def test_a_result_without_a_title_is_called_by_its_domain(
        self, site: WebServer, service: Service, provider: SearchProvider
    ) -> None:
        (result,) = await self.found(site, service, provider, Row(title=None, text=None))
        assert (result.title, result.text) == ("example.com", "")

    async def test_text_can_always_be_stored(
        self, site: WebServer, service: Service, provider: SearchProvider
    ) -> None:
        (result,) = await self.found(site, service, provider, Row(title="a\x00b", text="c\ud800d"))
        assert result.title == "ab"
        result.text.encode("utf-8")

    async def test_never_more_than_asked_for(
        self, site: WebServer, service: Service, provider: SearchProvider
    ) -> None:
        rows = [Row(url=f"https://example.com/{n}") for n in range(9)]
        assert len(await self.found(site, service, provider, *rows, limit=4)) == 4

    async def test_nothing_found_is_no_failure(
        self, site: WebServer, service: Service, provider: SearchProvider
    ) -> None:
        assert await self.found(site, service, provider) == []

    @pytest.mark.parametrize("status", [202, 429])
    async def test_a_wish_for_a_pause_is_told_apart(
        self, site: WebServer, service: Service, provider: SearchProvider, status: int
    ) -> None:
        route = reply(status, "<html>slow down</html>", "text/html", retry_after="30")
        failure = await self.failure(site, service, provider, route)
        assert isinstance(failure, RateLimited)
        assert failure.rest_seconds == 30
        assert "pause" in str(failure)

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 503])
    async def test_a_refusal_is_a_plain_failure(
        self, site: WebServer, service: Service, provider: SearchProvider, status: int
    ) -> None:
        failure = await self.failure(site, service, provider, reply(status, "<html>no</html>"))
        assert not isinstance(failure, RateLimited)
        assert str(status) in str(failure)

    @pytest.mark.parametrize(
        ("route", "words"),
        [
            (html_reply("<html>hello</html>"), "JSON|json"),
            (reply(200, b"", "application/json"), "nothing"),
            (reply(200, b'{"results": [', "application/json"), "JSON|json"),
            (reply(200, b"\xff\xfe\x00", "application/json"), "JSON|json"),
            (reply(200, b"[" * 200_000, "application/json"), "JSON|json"),
            (json_reply([1, 2]), "JSON|json"),
            (json_reply(None), "JSON|json"),
            (redirect("https://elsewhere.example/search"), "elsewhere.example"),
            (hang_up, "broke"),
            (gibberish, "broke"),
            (silence, "in time"),
            (flood("application/json"), "more than"),
            (reply(200, b"no gzip", "application/json", content_encoding="gzip"), "broke"),
        ],
    )
    async def test_a_rude_service_is_a_plain_failure(
        self, site: WebServer, service: Service, provider: SearchProvider, route: Route, words: str
    ) -> None:
        failure = await self.failure(site, service, provider, route)
        assert any(word in str(failure) for word in words.split("|"))
        assert not isinstance(failure, RateLimited)

    @pytest.mark.parametrize(
        "shape",
        [
            {},
            {"results": None, "web": None, "query": None},
            {"results": 5, "web": {"results": "x"}, "query": {"pages": {"1": {}}}},
            {"results": [1, None, "x", [], {}, {"url": {}}], "web": [], "query": []},
            {"web": {"results": [{"url": 1}]}, "query": {"pages": [{"fullurl": []}, 7]}},
        ],
    )
    async def test_another_shape_of_json_is_nothing_found(
        self, site: WebServer, service: Service, provider: SearchProvider, shape: Any
    ) -> None:
        site.routes[service.path] = json_reply(shape)
        assert list(await provider.search("ice", limit=5)) == []

    async def test_nobody_there_is_said_plainly(
        self, service: Service, client: httpx.AsyncClient
    ) -> None:
        with web_server() as gone:
            provider = service.build(gone, client)
        with pytest.raises(SearchFailed, match="Nobody answers"):
            await provider.search("ice", limit=5)

    async def test_a_very_long_question_is_asked(
        self, site: WebServer, service: Service, provider: SearchProvider
    ) -> None:
        site.routes[service.path] = service.answer([Row()])
        assert await provider.search("why does ice float " * 40, limit=5)


@pytest.mark.parametrize("route", [reply(403, "Forbidden"), html_reply("<html></html>")])
async def test_searxng_without_json_names_the_setting(
    site: WebServer, client: httpx.AsyncClient, route: Route
) -> None:
    site.default = route
    with pytest.raises(SearchFailed, match=r"json to search\.formats in its settings\.yml"):
        await SearxngProvider(base_url=site.url, client=client).search("ice", limit=5)


async def test_searxng_tells_which_engines_were_silent(
    site: WebServer, client: httpx.AsyncClient
) -> None:
    site.default = json_reply({"results": [], "unresponsive_engines": [["google", "timeout"]]})
    with pytest.raises(SearchFailed, match=r"google \(timeout\)"):
        await SearxngProvider(base_url=site.url, client=client).search("ice", limit=5)


@pytest.mark.parametrize(
    ("service_name", "setting"), [("tavily", "LUMINA_TAVILY_KEY"), ("brave", "LUMINA_BRAVE_KEY")]
)
async def test_a_key_that_is_not_accepted_names_its_setting(
    site: WebServer, client: httpx.AsyncClient, service_name: str, setting: str
) -> None:
    site.default = reply(401, "{}")
    (service,) = (service for service in SERVICES if service.name == service_name)
    with pytest.raises(SearchFailed, match=setting):
        await service.build(site, client).search("ice", limit=5)


@pytest.mark.parametrize(
    ("service_name", "header", "value"),
    [("tavily", "authorization", "Bearer tvly-1"), ("brave", "x-subscription-token", "BSA-1")],
)
async def test_the_key_travels_in_a_header_and_not_in_the_address(
    site: WebServer, client: httpx.AsyncClient, service_name: str, header: str, value: str
) -> None:
    (service,) = (service for service in SERVICES if service.name == service_name)
    site.default = service.answer([Row()])
    await service.build(site, client).search("ice", limit=5)
    assert site.requests[0].headers[header] == value
    assert value not in site.requests[0].target


@pytest.mark.parametrize("service_name", ["searxng", "tavily", "brave"])
@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("2026-02-03T04:05:06", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("2026-02-03T04:05:06+02:00", datetime(2026, 2, 3, 2, 5, 6, tzinfo=UTC)),
        ("2026-02-03", datetime(2026, 2, 3, tzinfo=UTC)),
        ("Tue, 03 Feb 2026 04:05:06 GMT", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("3 days ago", None),
        ("", None),
        (17, None),
    ],
)
async def test_dates_are_read_where_they_are_dates(
    site: WebServer,
    client: httpx.AsyncClient,
    service_name: str,
    date: Any,
    moment: datetime | None,
) -> None:
    (service,) = (service for service in SERVICES if service.name == service_name)
    site.default = service.answer([Row(date=date)])
    (result,) = await service.build(site, client).search("ice", limit=5)
    assert result.published_at == moment


async def test_brave_gives_its_further_extracts_too(
    site: WebServer, client: httpx.AsyncClient
) -> None:
    row = {"url": "https://a.example/", "description": "One.", "extra_snippets": ["Two.", 3]}
    site.default = json_reply({"web": {"results": [row]}})
    provider = BraveProvider(key="k", base_url=site.url, client=client)
    assert [found.text for found in await provider.search("ice", limit=5)] == ["One. Two."]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("¿por qué flota el hielo?", "es"),
        ("why does ice float?", "en"),
        ("氷はなぜ水に浮くのか", "ja"),
        ("为什么冰会浮在水面上", "zh"),
        ("почему лёд плавает", "ru"),
        ("чому лід плаває", "uk"),
        ("Einstein", "en"),
    ],
)
async def test_wikipedia_is_asked_in_the_language_of_the_question(
    site: WebServer, client: httpx.AsyncClient, question: str, language: str
) -> None:
    provider = WikipediaProvider(
        base_url=site.url + "/{language}", client=client, language_of=language_of
    )
    site.default = json_reply({})
    await provider.search(question, limit=5)
    assert site.requests[0].target.startswith(f"/{language}/w/api.php?")


async def test_wikipedia_keeps_to_a_language_that_was_set(
    site: WebServer, client: httpx.AsyncClient
) -> None:
    provider = WikipediaProvider(
        base_url=site.url + "/{language}", client=client, language_of=language_of, language="de"
    )
    site.default = json_reply({})
    await provider.search("¿por qué flota el hielo?", limit=5)
    assert site.requests[0].target.startswith("/de/")


async def test_wikipedia_pages_that_only_list_others_fall_out(
    site: WebServer, client: httpx.AsyncClient
) -> None:
    listing = {"title": "Ice (band)", "fullurl": "https://a.example/", "pageprops": {}}
    site.default = json_reply({"query": {"pages": [listing]}})
    provider = WikipediaProvider(base_url=site.url, client=client, language_of=language_of)
    assert list(await provider.search("ice", limit=5)) == []


@pytest.mark.parametrize(
    ("code", "kind"), [("ratelimited", RateLimited), ("badvalue", SearchFailed)]
)
async def test_wikipedia_says_its_errors_inside_an_ok(
    site: WebServer, client: httpx.AsyncClient, code: str, kind: type[SearchFailed]
) -> None:
    site.default = reply(200, json.dumps({"error": {"code": code, "info": "Not so."}}))
    provider = WikipediaProvider(base_url=site.url, client=client, language_of=language_of)
    with pytest.raises(SearchFailed) as caught:
        await provider.search("ice", limit=5)
    assert type(caught.value) is kind
