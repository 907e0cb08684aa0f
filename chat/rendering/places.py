"""Where the inline content of a parsed block stands in the text that was parsed.

The parser gives a block's content without its containers' prefixes and without any positions,
only with the lines it comes from. A line of content is a part of its line in the text, the last
such part; in a table the cells of a row follow each other, and have lost the backslash before a
pipe.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from chat.agent.values import Span
from chat.rendering.parser import parse
from chat.rendering.segments import segments

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of content: it begins at `content_start` there and at `text_start` in the text."""

    content_start: int
    text_start: int
    line: str
    in_table: bool

    def place(self, pos: int) -> int:
        column = pos - self.content_start
        return self.text_start + column + (self.line.count("|", 0, column) if self.in_table else 0)


@dataclass(frozen=True, slots=True)
class Block:
    """The inline content of one block."""

    content: str
    children: Sequence[Token]
    pieces: Sequence[Piece]

    def piece_at(self, pos: int) -> Piece:
        return self.pieces[
            bisect_right(self.pieces, pos, key=lambda piece: piece.content_start) - 1
        ]

    def span(self, start: int, end: int) -> Span:
        """The span in the text of a span in the content that is not empty."""
        return Span(self.piece_at(start).place(start), self.piece_at(end - 1).place(end - 1) + 1)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line that lists a source and is not shown, with its line end."""

    span: Span


def blocks(text: str) -> Iterator[Block | SourceLine]:
    """What an answer consists of, in order, code and displayed maths left out."""
    for span in segments(text):
        yield from _blocks_of(span.of(text), span.start)


def _blocks_of(segment: str, base: int) -> Iterator[Block | SourceLine]:
    lines = [(base + match.start(), match.group()) for match in _LINE.finditer(segment)]
    row, cursor = -1, 0
    in_table = False
    for token in parse(segment):
        if token.type in {"table_open", "table_close"}:
            in_table = token.type == "table_open"
        elif token.type == "tr_open" and token.map:
            row, cursor = token.map[0], 0
        elif token.type == "source_line" and token.map:
            start, line = lines[token.map[0]]
            yield SourceLine(Span(start, start + len(line)))
        elif token.type == "inline" and in_table:
            piece = _cell(token.content, *lines[row], cursor)
            cursor = piece.place(len(token.content)) - lines[row][0]
            yield Block(token.content, token.children or (), (piece,))
        elif token.type == "inline" and token.map:
            pieces = _pieces(token.content, lines[token.map[0] : token.map[1]])
            yield Block(token.content, token.children or (), tuple(pieces))


def _cell(content: str, start: int, line: str, cursor: int) -> Piece:
    found = line.replace("\0", "\ufffd").find(content.replace("|", "\\|"), cursor)
    return Piece(0, start + max(found, cursor), content, in_table=True)


def _pieces(content: str, lines: Sequence[tuple[int, str]]) -> Iterator[Piece]:
    """One piece for each line of content that is not blank; a line of the text may have none."""
    remaining = iter(lines)
    pos = 0
    for line in content.split("\n"):
        wanted = line.strip(" \t")
        for start, source in remaining if wanted else ():
            column = source.replace("\0", "\ufffd").rfind(wanted)
            if column >= 0:
                yield Piece(pos + line.index(wanted), start + column, wanted, in_table=False)
                break
        pos += len(line) + 1
