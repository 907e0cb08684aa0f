"""A text cut into lines: the smallest pieces of history, each with an address.

A line of text is a line, joined with those after it while a bracket is open. A line too long to
be one thing is cut by sentence, neighbours put together while they are short, and by words where
there is no sentence. Each line knows what encloses it: the line above it that is less indented,
or the heading. What is between the lines is white space: no character of the text is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from memory.engine.values import Span

LONGEST_CHARS = 320
JOINED_LINES = 8


@dataclass(slots=True)
class Line:
    """The range [start, end) of a text. `n_inside` lines after this one are enclosed by it; `body`
    is where the text begins after a line number that a tool printed. Most objects that a history
    makes are lines: they hold numbers alone and are not frozen, which would double their cost."""

    start: int
    end: int
    body: int
    n_inside: int = 0
    indent: int = field(default=0, repr=False, compare=False)

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def of(self, text: str) -> str:
        return text[self.start : self.end]


_NUMBER = re.compile(r"[ \t]*\d{1,6}(?:\t|→|[ ]?[|│:][ ]?(?![/\d]))|[ \t]*\d{1,6}[ ]{2}(?=\S| )")
_HEADING = re.compile(r"(#{1,6})[ \t]+\S")
_BRACKETS = re.compile(r"[()\[\]{}]")


def split_lines(text: str) -> list[Line]:
    """The lines of a text, in order, without overlap."""
    lines = list(_lines(text))
    _enclose(lines)
    return lines


def _lines(text: str) -> Iterator[Line]:
    rows = list(_rows(text))
    at = 0
    while at < len(rows):
        row = rows[at]
        size = _joined(text, rows, at)
        last = rows[at + size - 1]
        if last.end - row.start <= LONGEST_CHARS:
            row.end = last.end
            yield row
        else:
            yield from _cut(text, row)
        at += size


def _rows(text: str) -> Iterator[Line]:
    """The lines that hold more than white space, trailing space left off."""
    start = 0
    numbered = _is_numbered(text)
    for row in text.split("\n"):
        bare = row.rstrip()
        if bare:
            stop = start + len(bare)
            number = _NUMBER.match(text, start, stop) if numbered else None
            first = number.end() if number else start
            held = bare[first - start :].lstrip()
            if held:
                body = stop - len(held)
                yield Line(start, stop, body, 0, _indent(text, first, body))
        start += len(row) + 1


def _is_numbered(text: str) -> bool:
    """Whether the first lines carry the numbers of a reading tool, each one more than the last."""
    numbers = []
    for row in text[:2000].splitlines()[:6]:
        match = _NUMBER.match(row)
        if match:
            numbers.append(int(re.sub(r"\D", "", match[0])))
    return len(numbers) >= 2 and all(b == a + 1 for a, b in pairwise(numbers))


def _indent(text: str, start: int, body: int) -> int:
    """Columns of white space before the text; below zero for a heading, by its level."""
    if start == body:
        heading = _HEADING.match(text, start) if text[start] == "#" else None
        return len(heading[1]) - 7 if heading else 0
    if text.count(" ", start, body) == body - start:
        return body - start
    column = 0
    for char in text[start:body]:
        if char not in " \t":
            break
        column += 4 if char == "\t" else 1
    return column


def _joined(text: str, rows: list[Line], at: int) -> int:
    """How many rows belong together: up to the one that closes the brackets, if one soon does."""
    depth = 0
    for size in range(1, JOINED_LINES + 1):
        if at + size > len(rows):
            return 1
        row = rows[at + size - 1]
        if row.end - rows[at].start > LONGEST_CHARS:
            return 1
        for bracket in _BRACKETS.findall(text, row.body, row.end):
            depth += 1 if bracket in "([{" else -1
        if depth <= 0:
            return size
    return 1


# --- Long lines ----------------------------------------------------------------------------------

# A stop ends a sentence when white space and no small letter follow; the stops of scripts that
# put no space after them end it anyway.
_SENTENCE = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+(?=[^\sa-z])|[。！？｡।॥؟۔။។]+[”」』）]*\s*|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|No|Nr|Fig|z\.B|bzw|Sra?|Sta)|\d)\.$"
)
_SPACE = re.compile(r"\s+")


def _cut(text: str, row: Line) -> Iterator[Line]:
    start = row.start
    for end in _ends(text, row.body, row.end):
        stop = start + len(text[start:end].rstrip())
        if stop > start:
            body = row.body if start == row.start else start
            yield Line(start, stop, body, indent=row.indent)
        start = end


def _ends(text: str, start: int, end: int) -> Iterator[int]:
    """Where the pieces of a long line end, the last at `end`: as few as the limit allows."""
    piece_start = start
    last = start
    for stop in [*_sentence_ends(text, start, end), end]:
        if stop - piece_start > LONGEST_CHARS and last > piece_start:
            yield last
            piece_start = last
        while stop - piece_start > LONGEST_CHARS:
            piece_start = _word_end(text, piece_start)
            yield piece_start
        last = stop
    if last > piece_start:
        yield last


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    for match in _SENTENCE.finditer(text, start, end):
        head = text[max(start, match.start() - 6) : match.start() + 1]
        if not _ABBREVIATION.search(head):
            yield match.end()


def _word_end(text: str, start: int) -> int:
    """The end of the last whole word within the limit; the limit itself in one endless word."""
    window = text[start + LONGEST_CHARS // 2 : start + LONGEST_CHARS]
    spaces = list(_SPACE.finditer(window))
    return start + LONGEST_CHARS // 2 + spaces[-1].end() if spaces else start + LONGEST_CHARS


# --- What encloses what --------------------------------------------------------------------------


def _enclose(lines: list[Line]) -> None:
    """A line encloses those after it that are further indented, up to the first that is not."""
    open_lines: list[tuple[int, Line]] = []
    for at, line in enumerate(lines):
        while open_lines and open_lines[-1][1].indent >= line.indent:
            first, closed = open_lines.pop()
            closed.n_inside = at - first - 1
        open_lines.append((at, line))
    for first, closed in open_lines:
        closed.n_inside = len(lines) - first - 1
