"""Prose cut into sentences, in any script: what a summary is made of. Code and tables stay out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.engine.lines import split_lines
from memory.engine.markup import code_spans

_STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+(?=[^\sa-zа-я])|[。！？｡।॥؟۔]+[”」』）]*\s*")
_ABBREVIATED = re.compile(
    r"(?:\b(?:[A-Za-zА-Я]|Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|No|Nr|z\.B|bzw|Sra?|ca|cf|al)|(?<![\w:.,-])\d{1,2})$"
)
_OPENER = re.compile(r"^(?:#{1,6}[ \t]+|[-*+•·>][ \t]+|\d{1,3}[.)][ \t]+)+")
_EMPHASIS = re.compile(r"\*\*|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|`")
_TABLE = re.compile(r"^\s*\|.*\|\s*$|^[\s|:=_*+-]+$")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text in order, on one line each, without the marks of Markdown."""
    code = code_spans(text)
    for line in split_lines(text):
        fenced = code.end_around(line.start) >= line.end
        row = text[line.start : line.end]
        if fenced or _TABLE.match(row):
            continue
        yield from _within(_OPENER.sub("", row.strip(), count=1))


def _within(row: str) -> Iterator[str]:
    start = 0
    for stop in _STOP.finditer(row):
        if row[stop.start()] == "." and _ABBREVIATED.search(row, start, stop.start()):
            continue
        yield from _plain(row[start : stop.end()])
        start = stop.end()
    yield from _plain(row[start:])


def _plain(sentence: str) -> Iterator[str]:
    plain = " ".join(_EMPHASIS.sub("", sentence).split())
    if plain:
        yield plain
