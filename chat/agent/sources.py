"""Numbering the sources of one turn, and merging what is the same page.

Numbers follow the order in which results are added, which the loop keeps equal to the order of
the calls. A number, once given, stays; a snapshot only grows at its end, so spans stay true.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url, url_query_cleaner

from chat.agent.storable import storable
from chat.agent.values import EarlierSource, Origin, Page, SearchResult, Source, Span

LIBRARY_DOMAIN = "library"
_TRACKING = re.compile(r"[?&](utm_[^=&#]*|gclid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id)=")
_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n))*")


def canonical_url(url: str) -> str:
    """A key that is equal for the same page under http or https, with or without a fragment,
    a trailing slash or tracking parameters. For comparing only: never a link."""
    if url.startswith("/"):
        return url
    try:
        tracking = [match.group(1) for match in _TRACKING.finditer(url)]
        bare = url_query_cleaner(url, tracking, remove=True, unique=False) if tracking else url
        parts = urlsplit(canonicalize_url(bare))
        port = "" if parts.port in {None, 80, 443} else f":{parts.port}"
    except ValueError:
        return url
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.hostname or ''}{port}{parts.path.rstrip('/')}{query}"


def domain_of(url: str) -> str:
    """The host without "www."; a document of the library has the domain "library"."""
    if url.startswith("/"):
        return LIBRARY_DOMAIN
    try:
        return (urlsplit(url).hostname or url).removeprefix("www.")
    except ValueError:
        return url[:100]


def is_linkable(url: str) -> bool:
    """Only http and https lead anywhere, and paths of this server's own library."""
    if url.startswith("/"):
        return not url.startswith("//")
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def paragraphs(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The spans of the pieces between blank lines, within `text[start:end]`."""
    end = len(text) if end is None else end
    return [
        Span(match.start(), match.start() + len(match.group().rstrip()))
        for match in _PARAGRAPH.finditer(text, start, end)
    ]


class SourceRegistry:
    """The sources of one turn, in the order of their numbers."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        """Begins with `sources`, numbered from 1 without gaps: those of an answer to continue."""
        self._sources = list(sources)
        self._numbers = {canonical_url(source.url): source.number for source in self._sources}

    @property
    def sources(self) -> Sequence[Source]:
        return tuple(self._sources)

    def add_result(
        self, result: SearchResult, *, provider: str, read_at: datetime
    ) -> tuple[Source, Sequence[Span]]:
        """The source of a search result, new or known, and the spans of the result's text."""
        source = self._find(result.url) or self._create(
            result.url,
            result.title,
            provider=provider,
            read_at=read_at,
            published_at=result.published_at,
        )
        text = storable(result.text).strip()
        source, start = self._extend(replace(source, recalled=False), text)
        spans = paragraphs(source.text, start, start + len(text))
        return self.show(source.number, spans), spans

    def add_page(self, page: Page, *, asked_url: str, provider: str) -> tuple[Source, Span]:
        """The source of a page that was read, and the span of its text in the snapshot."""
        source = (
            self._find(asked_url)
            or self._find(page.url)
            or self._create(page.url, page.title, provider=provider, read_at=page.read_at)
        )
        self._numbers.setdefault(canonical_url(asked_url), source.number)
        self._numbers.setdefault(canonical_url(page.url), source.number)
        text = storable(page.text).strip()
        source, start = self._extend(replace(source, read_at=page.read_at, recalled=False), text)
        return source, Span(start, start + len(text))

    def add_earlier(self, earlier: EarlierSource) -> tuple[Source, Sequence[Span]]:
        """The source of what is recalled of an earlier turn's reading, and the spans of it."""
        source = self._find(earlier.url) or self._create(
            earlier.url,
            earlier.title,
            provider=earlier.provider,
            read_at=earlier.read_at,
            published_at=earlier.published_at,
            recalled=True,
        )
        spans = []
        for passage in map(str.strip, earlier.passages):
            source, start = self._extend(source, passage)
            spans.append(Span(start, start + len(passage)))
        origins = [Origin(earlier.ref, span) for span in spans if earlier.ref]
        new = [one for one in origins if one not in source.origins]
        self._keep(replace(source, origins=(*source.origins, *new)))
        return self.show(source.number, spans), spans

    def show(self, number: int, spans: Iterable[Span]) -> Source:
        """Notes that the model is shown these spans of a source's snapshot."""
        source = self._sources[number - 1]
        new = [span for span in spans if span not in source.passages]
        return self._keep(replace(source, passages=(*source.passages, *new)))

    def _find(self, url: str) -> Source | None:
        number = self._numbers.get(canonical_url(url))
        return self._sources[number - 1] if number else None

    def _create(
        self,
        url: str,
        title: str,
        *,
        provider: str,
        read_at: datetime,
        published_at: datetime | None = None,
        recalled: bool = False,
    ) -> Source:
        url = storable(url)
        source = Source(
            number=len(self._sources) + 1,
            title=" ".join(storable(title).split()) or domain_of(url),
            url=url,
            domain=domain_of(url),
            text="",
            read_at=read_at,
            provider=provider,
            published_at=published_at,
            recalled=recalled,
        )
        self._sources.append(source)
        self._numbers[canonical_url(url)] = source.number
        return source

    def _extend(self, source: Source, text: str) -> tuple[Source, int]:
        """Adds a text at the snapshot's end unless it is there already; says where it begins."""
        start = source.text.find(text)
        if start < 0:
            joint = "\n\n" if source.text else ""
            start = len(source.text) + len(joint)
            source = replace(source, text=f"{source.text}{joint}{text}")
        return self._keep(source), start

    def _keep(self, source: Source) -> Source:
        self._sources[source.number - 1] = source
        return source
