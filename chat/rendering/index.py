"""The sources of one answer, as its citations see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from tld import get_tld

from chat.agent.sources import LIBRARY_DOMAIN, canonical_url, domain_of, is_linkable

MAX_LABEL_CHARS = 24


class Citable(Protocol):
    """What a citation needs of a source; rows and values both have it."""

    @property
    def number(self) -> int: ...

    @property
    def title(self) -> str: ...

    @property
    def url(self) -> str: ...

    @property
    def domain(self) -> str: ...


class SourceIndex:
    """Sources by number and by address."""

    def __init__(self, sources: Iterable[Citable]) -> None:
        self._sources = {source.number: source for source in sources}
        self._numbers = {
            canonical_url(source.url): source.number
            for source in reversed(self._sources.values())
            if source.url
        }

    @property
    def numbers(self) -> Collection[int]:
        return self._sources.keys()

    def number_at(self, url: str) -> int | None:
        """The number of the source that this address leads to."""
        if not self._numbers or not url:
            return None
        return self._numbers.get(canonical_url(url))

    def label(self, number: int) -> str:
        return label_of(self._sources[number])

    def title(self, number: int) -> str:
        source = self._sources[number]
        return source.title or source.domain or source.url


def label_of(source: Citable) -> str:
    """A word for a source's badge: the name in its domain, else its title, shortened."""
    domain = source.domain or (domain_of(source.url) if is_linkable(source.url) else "")
    if domain == LIBRARY_DOMAIN:
        label = source.title or domain
    else:
        known = get_tld(f"https://{domain}", as_object=True, fail_silently=True)
        label = getattr(known, "domain", "") or domain or source.title or f"source {source.number}"
    return label if len(label) <= MAX_LABEL_CHARS else f"{label[: MAX_LABEL_CHARS - 1].rstrip()}…"
