"""The values of the engine: messages in, packed lines with a receipt out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Role = Literal["user", "assistant", "tool"]
Policy = Literal["fill", "lean"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a history.

    `at` is an aware datetime, or None: then nothing is dated. `tool`, `target`, `args` and
    `call_id` describe the call that a tool's text answers; `args` holds the call's other
    arguments (the range read, an edit's old and new text). `ok` is False for a failed call.
    """

    id: str | int
    role: Role
    text: str
    at: datetime | None = None
    speaker: str | None = None
    tool: str | None = None
    target: str | None = None
    args: Mapping[str, Any] | None = None
    call_id: str | None = None
    ok: bool = True


class Span(NamedTuple):
    """Half-open range [start, end) in Python characters of a named text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


class PackedLine(NamedTuple):
    """A line as it is shown. `parts` name what its score is the sum of. A counted list is of no
    message; a message that is kept whole has no span."""

    message_id: str | int | None
    text: str
    reason: str
    span: Span | None = None
    score: float = 0.0
    parts: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PackedMessage:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Lines that were not packed, by reason."""

    reason: str
    n_lines: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where the budget went: `n_tokens` = `line_tokens` + `frame_tokens`, and the `n_lines` of
    the history = those packed + those left out.

    `line_tokens` is what the lines cost alone, with their line breaks; `frame_tokens` the rest:
    headings, counted lists, messages. `pressure` is the share of the history that does not fit, 0
    where everything does. `notices` say in plain words what did not work.
    """

    budget_tokens: int
    n_tokens: int
    line_tokens: int
    frame_tokens: int
    n_lines: int
    n_packed: int
    left_out: tuple[LeftOut, ...]
    pressure: float
    policy: Policy
    asks_past: bool
    question_terms: tuple[str, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """`sources`: the number under which what was read of one target is offered, and the messages
    that hold it; only where numbers were asked for."""

    lines: tuple[PackedLine, ...]
    messages: tuple[PackedMessage, ...]
    n_tokens: int
    receipt: Receipt
    sources: tuple[tuple[int, tuple[str | int, ...]], ...] = ()
