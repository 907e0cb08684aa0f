"""Cutting an answer into segments while it arrives.

A segment is a run of top-level blocks that ends before a blank line, or rather before the first
line after it that certainly begins another block. Each is rendered by itself, so the whole is by
construction what the stream gave, provided that the cuts do not depend on what comes later:

- a cut lies only before a line that follows a blank line and begins in the first column:
  anything indented may continue a list or a block of code
- after a list, a line that looks like an item may continue it, so it is no cut; while "1" may
  still become "1.", nothing is decided
- there is no cut inside a fence. Only the parser knows whether one is open: it is asked at the
  first possible cut, and again after a line that may have closed it

What is decided looks at complete lines and the first few characters of one more, never beyond.
"""

from __future__ import annotations

import re

from chat.agent.values import Span
from chat.rendering.parser import parse_blocks
from chat.rendering.rules import depth_after, match_fence

_ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_MAYBE_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)]?)$")


class Segmenter:
    """Finds the cuts of a text that comes in pieces, in time near its length."""

    def __init__(self) -> None:
        self._text = ""  # of the open segment, and what is held back
        self._line = 0  # where its last, incomplete line begins
        self._scanned = 0  # no line ends between there and here
        self._placed = True  # whether that line is known to belong to the open segment
        self._given = 0  # how much of the text was handed on
        self._filled = False  # whether the segment has a line that is not blank
        self._after_blank = False
        self._has_items = False
        self._anchor = 0  # a place where a top-level block is known to begin
        self._fence = ""  # the markup of the fence that is known to be open
        self._depth: int | None = None  # of fences within it, where it is one of Markdown

    def feed(self, delta: str) -> list[str]:
        """What can be handed on: pieces of text, each but the first beginning a new segment."""
        self._append(delta)
        return self._advance(final=False)

    def close(self) -> list[str]:
        """The rest. The last line counts as complete."""
        return self._advance(final=True)

    def _append(self, delta: str) -> None:
        # With one reference alone the string grows in place, not by a copy each time.
        text, self._text = self._text, ""
        text += delta
        self._text = text

    def _advance(self, *, final: bool) -> list[str]:
        pieces = [""]
        while True:
            if not self._placed:
                cut = self._is_cut(final=final)
                if cut is None:
                    break
                self._placed = True
                if cut:
                    pieces[-1] += self._text[self._given : self._line]
                    self._restart()
                    pieces.append("")
            end = self._line_end(final=final)
            if end is None:
                break
            self._finish_line(end)
        given = len(self._text) if self._placed else self._line
        pieces[-1] += self._text[self._given : given]
        self._given = given
        return pieces

    def _restart(self) -> None:
        self._text = self._text[self._line :]
        self._scanned -= self._line
        self._line = self._given = self._anchor = 0
        self._filled = self._after_blank = self._has_items = False
        self._fence = ""

    def _line_end(self, *, final: bool) -> int | None:
        """Where the current line ends; a return at the very end may be half of a line end."""
        text = self._text
        newline = text.find("\n", self._scanned)
        stop = len(text) if newline < 0 else newline
        carriage = text.find("\r", self._scanned, stop)
        if carriage >= 0 and (carriage + 1 < len(text) or final):
            return carriage + (2 if carriage + 1 == newline else 1)
        self._scanned = len(text) if carriage < 0 else carriage
        return None if newline < 0 else newline + 1

    def _finish_line(self, end: int) -> None:
        line = self._text[self._line : end].rstrip("\r\n")
        blank = not line.strip(" \t")
        self._after_blank = blank and self._filled
        self._filled = self._filled or not blank
        if self._fence:
            if self._closes_fence(line):
                self._fence = ""
        elif _ITEM.match(line):
            self._has_items = True
        self._line = self._scanned = end
        self._placed = False

    def _is_cut(self, *, final: bool) -> bool | None:
        """Whether the current line begins a new segment; None while that cannot be said."""
        if not self._after_blank:
            return False
        start = self._text[self._line : self._line + 12]
        if not start and not final:
            return None
        if not start or start[0] in " \t\r\n" or self._fence:
            return False
        if self._has_items:
            if not final and _MAYBE_ITEM.match(start):
                return None
            if _ITEM.match(start.split("\n")[0].split("\r")[0]):
                return False
        return not self._opens_fence()

    def _opens_fence(self) -> bool:
        """Asks the parser whether a fence is open, and remembers it."""
        before = self._text[self._anchor : self._line]
        tokens = parse_blocks(before)
        last = tokens[-1] if tokens else None
        if last is None or last.type != "fence" or last.map is None:
            return False
        starts = _line_starts(before)
        if last.map[1] < len(starts):
            return False
        self._anchor += starts[last.map[0]]
        self._fence, self._depth = last.markup, last.meta.get("depth")
        return True

    def _closes_fence(self, line: str) -> bool:
        """Whether a line may close the open fence; the parser is asked again before the next
        cut, so it does no harm that an indented one may not."""
        match = match_fence(line.lstrip(" \t"))
        if self._depth is not None:
            if len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip()) < 4:
                self._depth = depth_after(match, self._fence, self._depth)
            return self._depth < 0
        return match is not None and match[1].startswith(self._fence) and not match[2]


def _line_starts(text: str) -> list[int]:
    """Where each line of a text that ends with a line end begins."""
    return [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))][:-1]


def segments(text: str) -> list[Span]:
    """The segments of a finished text; together they are the whole of it."""
    segmenter = Segmenter()
    pieces = segmenter.feed(text)
    last, *more = segmenter.close()
    pieces = [*pieces[:-1], pieces[-1] + last, *more]
    spans, start = [], 0
    for piece in pieces:
        spans.append(Span(start, start + len(piece)))
        start += len(piece)
    return spans if text else []


def closed_until(text: str, start: int = 0) -> int:
    """How far a growing text, from the beginning of a segment on, consists of finished ones."""
    pieces = Segmenter().feed(text[start:])
    return start + sum(len(piece) for piece in pieces[:-1])
