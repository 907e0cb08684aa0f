"""Where the words of a query stand in a text, by the rules by which a line is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from unicodedata import normalize

from memory.engine.terms import _UNSPACED, _WORD, terms_of
from memory.engine.values import Span


def words_found(text: str, query: str) -> list[Span]:
    """The words of the text that share a term with the query, from left to right. In a script
    without spaces the characters of the query themselves."""
    wanted = set(terms_of(query))
    if not wanted:
        return []
    found = (span for word in _WORD.finditer(text) for span in _within(word, wanted))
    return _joined(found)


def _within(word: re.Match[str], wanted: set[str]) -> Iterator[Span]:
    if not _UNSPACED.search(word[0]):
        if not wanted.isdisjoint(terms_of(word[0])):
            yield Span(*word.span())
        return
    for at, length in product(range(len(word[0])), (2, 1)):
        piece = word[0][at : at + length]
        if len(piece) == length and normalize("NFKC", piece) in wanted:
            yield Span(word.start() + at, word.start() + at + length)


def _joined(spans: Iterator[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined
