"""What the page of a turn is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

Kind = Literal["user", "assistant", "page", "document", "list", "gone"]

LABELS: Mapping[Kind, str] = {
    "user": "Said by the person",
    "assistant": "Said by Lumina",
    "page": "Web page",
    "document": "Library document",
    "list": "Counted list",
    "gone": "Deleted since",
}
SHORT_CHARS = 160
_WORDS = re.compile(r"^has [^;]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLine:
    """A line with its reason and its score, which is the sum of its `parts`. `key` makes it the
    same line in another pack."""

    key: tuple[str, int, int] = ("", 0, 0)
    text: str
    n_tokens: int
    reason: str = ""
    score: float = 0.0
    parts: Sequence[tuple[str, float]] = ()

    def without_text(self) -> SeenLine:
        """What may be shown of it to somebody who may not read it: the words that it shares with
        the question are words of both."""
        reason = _WORDS.sub("has words of the question", self.reason)
        return replace(self, text="", reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A message or a source with what is shown of it. `ref` is "m12", "s34", or "" for a list.

    `number` is the one under which a source is offered again in this turn. Against another pack a
    `change` is "in" or "out", or "alone" where two stand side by side.
    """

    ref: str
    kind: Kind
    n_tokens: int
    title: str = ""
    at: datetime | None = None
    href: str = ""
    number: int | None = None
    whole: bool = False
    lines: Sequence[SeenLine] = ()
    change: str = ""

    @property
    def label(self) -> str:
        return LABELS[self.kind]

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.lines)

    @property
    def is_short(self) -> bool:
        """Whether all of it can be shown where otherwise the first line stands."""
        return len(self.text) <= SHORT_CHARS and "\n" not in self.text.strip()


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the budget: `start` and `width` in hundredths of the bar."""

    name: str
    label: str
    n_tokens: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Meter:
    """Where the budget went, the free rest as the last slice."""

    budget_tokens: int
    slices: Sequence[Slice]

    @property
    def used_tokens(self) -> int:
        return sum(one.n_tokens for one in self.slices if one.name != "free")


@dataclass(frozen=True, slots=True)
class SeenFile:
    path: str
    href: str
    n_tokens: int
    n_left_out: int
    is_skill: bool
    changed_since: bool


@dataclass(frozen=True, slots=True)
class SeenSummary:
    """`span` says what it stands for."""

    text: str
    n_tokens: int
    span: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class SeenText:
    text: str
    n_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What of the conversation stood in the prompt: the newest messages whole and older lines."""

    receipt: Mapping[str, Any]
    note: str
    window: Sequence[Piece]
    older: Sequence[Piece]
    left_out: Sequence[tuple[str, int]]
    meter: Meter

    @property
    def n_older_lines(self) -> int:
        return sum(len(piece.lines) for piece in self.older)

    @property
    def older_tokens(self) -> int:
        return int(self.receipt.get("earlier_tokens", 0))

    @property
    def window_tokens(self) -> int:
        return sum(piece.n_tokens for piece in self.window)

    @property
    def terms(self) -> Sequence[str]:
        """The question's words as they are looked for, without their beginnings."""
        return [term for term in self.receipt.get("terms", ()) if "…" not in term]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What the steps of the turn added to the prompt. The tokens are estimated from the passages
    that the tools showed."""

    steps: Sequence[Any] = ()
    n_results: int = 0
    n_sources: int = 0
    n_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTurn:
    """Everything that the model was sent for one turn, in the order of the prompt."""

    system: SeenText
    files: Sequence[SeenFile] = ()
    session: SeenText | None = None
    summaries: Sequence[SeenSummary] = ()
    pack: Pack
    situation: SeenText
    question: SeenText
    continued: SeenText | None = None
    gathered: Gathered = field(default_factory=Gathered)
    with_content: bool = True
