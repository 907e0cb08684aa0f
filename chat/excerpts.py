"""The part of a text that a search is shown: round the words that were found, which are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.service import words_found

EXCERPT_CHARS = 500

Piece = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`pieces` are texts, each with whether it was looked for."""

    pieces: Sequence[Piece]
    cut_before: bool
    cut_after: bool

    @property
    def text(self) -> str:
        text = "".join(piece for piece, _ in self.pieces)
        return f"{'…' * self.cut_before}{text}{'…' * self.cut_after}"


def excerpt(text: str, query: str, *, near: int = 0, size: int = EXCERPT_CHARS) -> Excerpt:
    """At most `size` characters of a text: where most of the query's words stand close together,
    or from about `near` on where none is found."""
    spans = [(one.start, one.end) for one in words_found(text, query)]
    start, end = _window(text, spans, near, size)
    pieces: list[Piece] = []
    at = start
    for left, right in spans:
        if start <= left and right <= end:
            pieces += [(text[at:left], False), (text[left:right], True)]
            at = right
    pieces.append((text[at:end], False))
    return Excerpt([one for one in pieces if one[0]], start > 0, end < len(text))


def _window(text: str, spans: Sequence[tuple[int, int]], near: int, size: int) -> tuple[int, int]:
    if len(text) <= size:
        return 0, len(text)
    first, last = _best(text, spans, size) or (near, near)
    room = max(0, size - (last - first))
    start = max(0, min(first - room // 3, len(text) - size))
    return _at_words(text, start, min(len(text), start + size), first)


def _best(text: str, spans: Sequence[tuple[int, int]], size: int) -> tuple[int, int] | None:
    """Where the spans that fit together are of most different words; the first such place."""
    best, most = None, 0
    for index, (start, _) in enumerate(spans):
        inside = [one for one in spans[index : index + 40] if one[1] - start <= size]
        n_words = len({text[left:right].casefold() for left, right in inside})
        if n_words > most:
            best, most = (start, inside[-1][1]), n_words
    return best


def _at_words(text: str, start: int, end: int, first: int) -> tuple[int, int]:
    """The window without halves of words at its ends, where it can give them away."""
    if start > 0 and (space := text.find(" ", start, min(first, start + 40))) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", max(start, end - 40), end)) > first:
        end = space
    return start, end
