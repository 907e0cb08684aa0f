"""How packed lines are printed: by message, in their order, each under a short heading."""

from __future__ import annotations

import re

from memory.engine.values import Message

INTRO = "Excerpts from earlier:"
GONE = " (no longer so)"
NOTE = "(Earlier messages are not shown.)"


def heading(message: Message, source: int | None = None) -> str:
    """Who speaks, or what was called on what; with the number of the source where it has one."""
    if message.role == "tool":
        parts = [message.tool or "tool", *([message.target] if message.target else [])]
        called = f"{' '.join(' '.join(parts).split())}{'' if message.ok else ' (failed)'}"
        return f"source {source}, {called}:" if source is not None else f"{called}:"
    return f"{message.speaker or message.role}:"


def day(message: Message) -> str:
    """The day that stands above the messages of it, or nothing."""
    return message.at.date().isoformat() if message.at else ""


def heading_words(message: Message) -> str:
    """What a line is found by beyond its own words."""
    words = [message.speaker or "", message.tool or "", message.target or ""]
    if message.at:
        words.append(message.at.strftime("%Y-%m-%d %B"))
    return " ".join(words)


_NUMBER = re.compile(r"[ \t]*(\d+)[ ]?[\t|:│→]?[ ]?")


def show_line(text: str, body: int) -> str:
    """A line as it is printed. A tool's line numbers stay; indentation is narrowed to one blank
    for four, so that structure shows and blanks do not eat the budget."""
    numbered = bool(text[:body].strip())
    return "\n".join(_show_row(row, numbered) for row in text.splitlines() if row.strip())


def _show_row(row: str, numbered: bool) -> str:
    match = _NUMBER.match(row) if numbered else None
    return f"{match[1]} {_narrow(row[match.end() :])}" if match else _narrow(row)


def _narrow(row: str) -> str:
    bare = row.lstrip()
    width = len(row[: len(row) - len(bare)].expandtabs(4))
    return " " * ((width + 2) // 4) + bare.rstrip()
