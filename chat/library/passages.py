"""Cutting a text into passages: paragraphs under one heading, up to a length that one can quote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from chat.library.terms import n_words

MAX_WORDS = 160
_MAX_CHARS = 1_600

Span = tuple[int, int]
_HEADING = regex.compile(r"#{1,6}\s+(\S.*)")
# A sentence of at most 400 characters; else as many words as fit; else whatever fits.
_SENTENCE = regex.compile(
    r"""(?s).{1,400}?(?:[.!?…]["'”’»)]*\s+|[。！？]|\Z)|.{1,400}\s|.{1,400}"""
)


@dataclass(frozen=True, slots=True)
class Piece:
    """The span [start, end) of a text, and the heading above it."""

    start: int
    end: int
    heading: str


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    paragraphs: list[Span]


def passages(text: str) -> list[Piece]:
    """In the order of the text. Headings stay outside, and no passage goes across one.

    Paragraphs are put together up to 160 words; a longer one is cut between sentences.
    """
    return [
        Piece(start, end, section.heading)
        for section in _sections(text)
        for start, end in _packed(text, _short_enough(text, section.paragraphs))
    ]


def _sections(text: str) -> list[_Section]:
    found = [_Section("", [])]
    start, end, position = -1, 0, 0
    for line in [*text.splitlines(keepends=True), ""]:
        heading = _HEADING.fullmatch(line.strip()) if line.startswith("#") else None
        if (heading or not line.strip()) and start >= 0:
            found[-1].paragraphs.append((start, end))
            start = -1
        if heading:
            found.append(_Section(heading.group(1).rstrip("# "), []))
        elif line.strip():
            start = position + len(line) - len(line.lstrip()) if start < 0 else start
            end = position + len(line.rstrip())
        position += len(line)
    return found


def _short_enough(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        if end - start <= _MAX_CHARS and n_words(text[start:end]) <= MAX_WORDS:
            yield start, end
        else:
            sentences = (match.span() for match in _SENTENCE.finditer(text, start, end))
            yield from _packed(text, sentences)


def _packed(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Neighbours put together as long as they fit, without white space at their ends."""
    packed_start, packed_end, packed_words = 0, 0, 0
    for start, end in spans:
        words = n_words(text[start:end])
        fits = packed_words + words <= MAX_WORDS and end - packed_start <= _MAX_CHARS
        if packed_end and not fits:
            yield packed_start, packed_end
            packed_end, packed_words = 0, 0
        if not packed_end:
            packed_start = start
        packed_end = start + len(text[start:end].rstrip())
        packed_words += words
    if packed_end:
        yield packed_start, packed_end
