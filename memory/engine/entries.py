"""A message as a history remembers it, and what of it is compared, joined and encoded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from memory.engine.alignment import Row
from memory.engine.calls import Call
from memory.engine.lines import Line
from memory.engine.values import Message
from memory.engine.vectors import readable

# Turns further apart than this are two talks: what stands beside what ends there.
_PAUSE = timedelta(hours=6)
_CONTEXT_CHARS = 200
_ENCLOSING_CHARS = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """A message as it is remembered: its record, the lines of it, the row of the first line."""

    message: Message
    text: str
    lines: tuple[Line, ...]
    first_row: int
    call: Call | None

    def line_text(self, number: int) -> str:
        return self.lines[number].of(self.text)


def joins_talk(last: Message | None, message: Message) -> bool:
    """Whether a message goes on with the talk before it. Tool output stands by itself."""
    if last is None or "tool" in (message.role, last.role):
        return False
    return not (message.at and last.at and message.at - last.at > _PAUSE)


def n_bytes_of(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def rows_of(entry: Entry) -> list[Row]:
    """The lines of a tool's output as versions compare them."""
    text, rows = entry.text, []
    at = end = 0
    for number, line in enumerate(entry.lines, entry.first_row):
        at += text.count("\n", end, line.start)
        rows.append(Row(number, _bare_rows(text[line.body : line.end]), False, at))
        end = line.start
    return rows


def _bare_rows(text: str) -> str:
    """A line without the white space round its rows: what versions compare."""
    if text.isprintable():
        return text.strip()
    return "\n".join(row.strip() for row in text.splitlines())


# --- What is encoded -----------------------------------------------------------------------------


def to_encode(entry: Entry, before: Entry | None) -> tuple[list[str], list[str]]:
    """The lines as they are encoded, and before each line of talk what was said before it:
    for the first line the end of the message `before`, where the talk goes on from there."""
    texts = _stripped(entry)
    if entry.message.role == "tool" or not texts:
        return [readable(text) for text in texts], _enclosing(entry, texts)
    said = _as_said(entry)
    last = _as_said(before)[-1:] if before else []
    return said, [text[-_CONTEXT_CHARS:] for text in [*(last or [""]), *said[:-1]]]


def _stripped(entry: Entry) -> list[str]:
    return [entry.line_text(number).strip() for number in range(len(entry.lines))]


def _as_said(entry: Entry) -> list[str]:
    speaker = entry.message.speaker
    return [f"{speaker}: {text}" if speaker else text for text in _stripped(entry)]


def _enclosing(entry: Entry, texts: Sequence[str]) -> list[str]:
    """For each line of output the name of what was read and the two lines that enclose it."""
    name = re.split(r"[/\\]", entry.message.target or "")[-1].split(".")[0]
    contexts = []
    open_lines: list[tuple[int, int]] = []
    for number, line in enumerate(entry.lines):
        while open_lines and open_lines[-1][1] < number:
            open_lines.pop()
        above = [readable(texts[at])[:_ENCLOSING_CHARS] for at, _ in open_lines[-2:]]
        contexts.append(" ".join([name, *above])[: 2 * _ENCLOSING_CHARS])
        if line.n_inside:
            open_lines.append((number, number + line.n_inside))
    return contexts
