"""Where the code is in a Markdown text: closed fences and back-ticked spans."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"`+|\n[ \t]*\n")


class Spans:
    """Ranges that do not overlap, asked by position."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def end_around(self, position: int) -> int:
        """Where the range round `position` ends; -1 outside all of them."""
        at = bisect_right(self._starts, position) - 1
        return self._ends[at] if at >= 0 and self._ends[at] > position else -1


def code_spans(text: str) -> Spans:
    """The closed fences and back-ticked spans of a text. An unclosed fence protects nothing."""
    fences = list(_fences(text))
    return Spans(sorted([*fences, *_ticked(text, fences)]))


def _fences(text: str) -> Iterator[tuple[int, int]]:
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif _closes(text, opened[1], match):
            yield opened.start(), match.end()
            opened = None


def _closes(text: str, opener: str, match: re.Match[str]) -> bool:
    if match[1][0] != opener[0] or len(match[1]) < len(opener):
        return False
    end = text.find("\n", match.end())
    return not text[match.end() : len(text) if end < 0 else end].strip()


def _ticked(text: str, fences: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Runs of back-ticks pair with the next run of the same length in their paragraph."""
    open_at: dict[int, int] = {}
    outside_from = 0
    fence = iter([*fences, (len(text) + 1, len(text) + 1)])
    start, end = next(fence)
    for match in _TICKS.finditer(text):
        while match.start() >= end:
            start, end = next(fence)
        if match.start() >= start or match[0][0] == "\n":
            open_at.clear()
            continue
        length = match.end() - match.start()
        opened = open_at.pop(length, -1)
        if opened >= outside_from:
            yield opened, match.end()
            outside_from = match.end()
        else:
            open_at[length] = match.start()
