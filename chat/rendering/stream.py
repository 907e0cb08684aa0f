"""An answer on its way to a page: text while a block grows, its HTML once it is closed.

A block of the page is a segment of the answer. Every character is sent once as text and every
block once as HTML, however the model's server cuts its stream; the blocks together are
`answer_html` of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chat.rendering.index import Citable, SourceIndex
from chat.rendering.markdown import segment_html
from chat.rendering.segments import Segmenter


@dataclass(frozen=True, slots=True)
class Append:
    """Text, not HTML, that the page adds to its growing block. Blocks count from 0."""

    block: int
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """The final HTML of a block, in place of its text."""

    block: int
    html: str


Fragment = Append | Block


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a page shows that is made in the middle of a stream: `blocks` are HTML, and
    `open_text` is the raw text of the block after them. The next fragments fit on to it."""

    blocks: tuple[str, ...]
    open_text: str


class AnswerStream:
    """Turns the pieces of an answer into fragments."""

    def __init__(self, sources: Iterable[Citable] = (), *, prefix: str = "") -> None:
        """`sources` and `prefix` as for `answer_html`; the sources do not change any more."""
        self._index = SourceIndex(sources)
        self._prefix = prefix
        self._segmenter = Segmenter()
        self._blocks: list[str] = []
        self._open: list[str] = []

    def feed(self, delta: str) -> list[Fragment]:
        return self._fragments(self._segmenter.feed(delta))

    def close(self) -> list[Fragment]:
        """The last fragments. A stream that is cut short is closed the same way."""
        fragments = self._fragments(self._segmenter.close())
        return fragments + self._close_block() if self._open else fragments

    def snapshot(self) -> Snapshot:
        return Snapshot(tuple(self._blocks), "".join(self._open))

    def _fragments(self, pieces: list[str]) -> list[Fragment]:
        fragments: list[Fragment] = []
        for number, piece in enumerate(pieces):
            if number:
                fragments += self._close_block()
            if piece:
                self._open.append(piece)
                fragments.append(Append(len(self._blocks), piece))
        return fragments

    def _close_block(self) -> list[Fragment]:
        html = segment_html("".join(self._open), self._index, self._prefix)
        self._open = []
        self._blocks.append(html)
        return [Block(len(self._blocks) - 1, html)]
