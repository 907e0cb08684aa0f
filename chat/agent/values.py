"""The values that the agent works on: frozen, compared by content, without database ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to use a tool. `arguments` is the raw JSON text, which may be broken."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as a model reads it: language only, no storage format and no old number."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it is offered: `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model's server counted them; an estimate when it does not count."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.estimated or other.estimated,
        )

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a provider found: the text is an extract, plain, as long as the provider gives it.

    `url` is http(s), or a path beginning with "/" for a document of the library.
    """

    title: str
    url: str
    text: str
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as it was read: `url` is where the redirects ended, `text` is plain text."""

    url: str
    title: str
    text: str
    read_at: datetime
    language: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range [start, end) in Python characters of a named text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Origin:
    """What was recalled of an earlier source: its place in the snapshot, and the name that the
    earlier source goes by where it is kept."""

    ref: str
    span: Span


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer with the numbers of the sources that it cites, each once.

    `claim` is what it says, as plain language without its markers.
    """

    span: Span
    claim: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page or document, numbered from 1 within a turn.

    `text` is its snapshot as it was read; `passages` are the spans of it that the model saw.
    """

    number: int
    title: str
    url: str
    domain: str
    text: str
    read_at: datetime
    provider: str
    published_at: datetime | None = None
    passages: tuple[Span, ...] = ()
    recalled: bool = False
    """Whether the conversation alone brought it back: its snapshot is what was recalled."""
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A provider that was tried and gave nothing, with the reason in plain words."""

    provider: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """The results of the first provider that had some, and those that were passed over."""

    provider: str
    results: Sequence[SearchResult] = ()
    passed_over: Sequence[PassedOver] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierLines:
    """Lines of one earlier message, in order; `on` is its day, if known."""

    who: Role
    on: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierSource:
    """What is recalled of a page or document that an earlier turn read; `ref` names it."""

    ref: str = ""
    title: str
    url: str
    provider: str
    read_at: datetime
    published_at: datetime | None = None
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The older lines that a question needs: what was said, what was counted (searches made, pages
    read), and evidence, which this turn may cite under numbers of its own."""

    said: Sequence[EarlierLines] = ()
    counts: Sequence[str] = ()
    sources: Sequence[EarlierSource] = ()

    def __bool__(self) -> bool:
        return bool(self.said or self.counts or self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryText:
    """What stands for a span of the conversation that has left the window."""

    on: str
    n_messages: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The part of the conversation that the model sees, oldest first.

    `n_visible` of `n_total` messages are whole in `messages`; `note` states any cut, or is empty.
    `summaries` stand for what is older; `earlier` is chosen anew for every question. `n_tokens` is
    what all of it costs.
    """

    summaries: Sequence[SummaryText] = ()
    messages: Sequence[Message] = ()
    earlier: Earlier = field(default_factory=Earlier)
    n_visible: int = 0
    n_total: int = 0
    n_tokens: int = 0
    note: str = ""
    receipt: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What is known before the question is read, as text for the model.

    `start` stays the same from turn to turn as long as the memory files do; `skills` are those
    that this question asks for. The window is what the model can see of a conversation at most.
    """

    start: str = ""
    skills: str = ""
    window_messages: int
    window_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReply:
    """What a memory tool did: `told` is for the model, `said` for the person, as a sentence."""

    told: Mapping[str, Any]
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """What is looked for in what was said: any of the words, on days from `since` to `until`."""

    text: str
    limit: int
    where: Literal["this", "all"] = "all"
    role: Literal["user", "assistant"] | None = None
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHit:
    """A message that was found, or a page that was read for one (who: tool): the part of it round
    the match, and the message's address in Lumina."""

    on: str
    who: Role
    conversation: str
    link: str
    excerpt: str
