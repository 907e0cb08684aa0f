"""Which sentence a marker closes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

_MASK = "\0"  # never in parsed text
_STOP = re.compile(
    rf"(?:(?P<spaced>[.!?…]+)[\"'”’»)\]*_]*(?:[ \u00a0\u202f]»)?|[。！？]+[」』”）*_]*)"
    rf"(?P<marks>(?:\s*{_MASK}+)*)\s*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|(?:[a-z]\.)+[a-z]|dr|mr|mrs|ms|prof|st|vs|no|fig|inc|jr|sr|cf|al|approx|ca)$",
    re.IGNORECASE,
)


def sentences(text: str, markers: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The sentences of a block's text. A marker after a full stop belongs to what it closes.

    A full stop ends a sentence when space, a marker or the end follows, and neither an
    abbreviation stands before it nor a small letter after it.
    """
    masked = _masked(text, markers)
    found, start = [], 0
    for stop in _STOP.finditer(masked):
        if stop["spaced"] is None or _ends_sentence(masked, stop):
            found.append((start, start + len(masked[start : stop.end()].rstrip())))
            start = stop.end()
    if masked[start:].strip():
        found.append((start, len(masked.rstrip())))
    return [(begin + _indent(masked[begin:end]), end) for begin, end in found]


def sentence_at(found: list[tuple[int, int]], pos: int) -> tuple[int, int]:
    """The one of the sentences that holds the position."""
    return found[max(0, bisect_right(found, pos, key=lambda span: span[0]) - 1)]


def _ends_sentence(masked: str, stop: re.Match[str]) -> bool:
    if stop["marks"] or stop.end() == len(masked):
        return True
    if not masked[stop.end() - 1].isspace() or masked[stop.end()].islower():
        return False
    if stop["spaced"] != ".":
        return True
    before = masked[max(0, stop.start() - 12) : stop.start()]
    return not _ABBREVIATION.search(before)


def _masked(text: str, markers: Iterable[tuple[int, int]]) -> str:
    """The text with every marker made a run of one character, of the same length."""
    parts, pos = [], 0
    for start, end in sorted(markers):
        if start >= pos:
            parts += [text[pos:start], _MASK * (end - start)]
            pos = end
    return "".join([*parts, text[pos:]])


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
