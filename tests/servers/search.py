"""Fake search services: how each one prints the same rows, and how it is built and asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import httpx

from chat.agent.ports import SearchProvider
from chat.providers.search.brave import BraveProvider
from chat.providers.search.searxng import SearxngProvider
from chat.providers.search.tavily import TavilyProvider
from chat.providers.search.wikipedia import WikipediaProvider
from tests.servers.web import Route, Seen, WebServer, html_reply, json_reply


@dataclass(frozen=True)
class Row:
    title: Any = "Why ice floats"
    url: Any = "https://example.com/ice"
    text: Any = "Ice is less dense than water."
    date: Any = None


@dataclass(frozen=True)
class Service:
    """`build(site, client)` makes the provider; `answer(rows)` lists them in the service's way."""

    name: str
    path: str
    build: Callable[[WebServer, httpx.AsyncClient], SearchProvider]
    answer: Callable[[Sequence[Row]], Route]
    query_of: Callable[[Seen], str]


def searxng_answer(rows: Sequence[Row]) -> Route:
    listed = [
        {"title": row.title, "url": row.url, "content": row.text, "publishedDate": row.date}
        for row in rows
    ]
    return json_reply({"query": "ice", "results": listed, "unresponsive_engines": []})


def tavily_answer(rows: Sequence[Row]) -> Route:
    listed = [
        {
            "title": row.title,
            "url": row.url,
            "content": row.text,
            "score": 0.9,
            "published_date": row.date,
        }
        for row in rows
    ]
    return json_reply({"query": "ice", "results": listed, "response_time": 0.5})


def brave_answer(rows: Sequence[Row]) -> Route:
    listed = [
        {"title": row.title, "url": row.url, "description": row.text, "page_age": row.date}
        for row in rows
    ]
    return json_reply({"type": "search", "web": {"type": "search", "results": listed}})


def wikipedia_answer(rows: Sequence[Row]) -> Route:
    pages = [
        {"pageid": n, "index": n, "title": row.title, "fullurl": row.url, "extract": row.text}
        for n, row in enumerate(rows, start=1)
    ]
    # The real service lists pages by their id, not by how well they fit.
    pages.reverse()
    return json_reply({"batchcomplete": True, "query": {"pages": pages}} if rows else {})


def duckduckgo_answer(rows: Sequence[Row]) -> Route:
    listed = "".join(
        f'<div class="result__body"><h2>{row.title}</h2>'
        f'<a href="{escape(str(row.url))}">{row.text}</a></div>'
        for row in rows
    )
    return html_reply(f"<html><body><div id=links>{listed}</div></body></html>")


SERVICES = (
    Service(
        "searxng",
        "/search",
        lambda site, client: SearxngProvider(base_url=site.url, client=client),
        searxng_answer,
        lambda seen: seen.query["q"],
    ),
    Service(
        "tavily",
        "/search",
        lambda site, client: TavilyProvider(key="tvly-1", base_url=site.url, client=client),
        tavily_answer,
        lambda seen: seen.json["query"],
    ),
    Service(
        "brave",
        "/res/v1/web/search",
        lambda site, client: BraveProvider(key="BSA-1", base_url=site.url, client=client),
        brave_answer,
        lambda seen: seen.query["q"],
    ),
    Service(
        "wikipedia",
        "/w/api.php",
        lambda site, client: WikipediaProvider(
            base_url=site.url, client=client, language_of=lambda _: "en"
        ),
        wikipedia_answer,
        lambda seen: seen.query["gsrsearch"],
    ),
)
