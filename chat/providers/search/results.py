"""From a service's JSON to our values, whatever the JSON looks like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import nh3

from chat.agent.values import SearchResult

_MAX_URL_CHARS = 4_000
_MAX_TITLE_CHARS = 300
_MAX_TEXT_CHARS = 20_000


def entries(payload: object, *path: str) -> Iterator[Mapping[str, Any]]:
    """The objects of the list at the path; nothing where the path leads nowhere."""
    for key in path:
        payload = payload.get(key) if isinstance(payload, dict) else None
    if isinstance(payload, list):
        yield from (entry for entry in payload if isinstance(entry, dict))


def search_results(
    rows: Iterable[Mapping[str, Any]],
    *,
    limit: int,
    title: str = "title",
    url: str = "url",
    text: str,
    published: str = "",
) -> list[SearchResult]:
    """Results with plain words and the URL exactly as given; rows without an http(s) URL fall out.

    `title`, `url`, `text` and `published` are the names that the service gives these things.
    """
    usable = (row for row in rows if is_web_address(row.get(url)))
    return [
        SearchResult(
            title=plain_text(row.get(title))[:_MAX_TITLE_CHARS] or urlsplit(row[url]).netloc,
            url=row[url],
            text=plain_text(row.get(text))[:_MAX_TEXT_CHARS],
            published_at=moment(row.get(published)),
        )
        for row in islice(usable, limit)
    ]


def is_web_address(url: object) -> bool:
    if not isinstance(url, str) or not 0 < len(url) <= _MAX_URL_CHARS:
        return False
    if any(character.isspace() or not character.isprintable() for character in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def plain_text(value: object) -> str:
    """One line without markup, entities and characters that cannot be stored."""
    if not isinstance(value, str):
        return ""
    storable = value.encode("utf-8", "replace").decode().replace("\x00", "")
    return " ".join(unescape(nh3.clean(storable, tags=set())).split())


def moment(value: object) -> datetime | None:
    """An aware moment from ISO 8601 or a mail date; UTC where no zone is given."""
    if not isinstance(value, str) or not value.strip():
        return None
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = parse(value.strip())
        except (ValueError, OverflowError):
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None
