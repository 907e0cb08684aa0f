"""What a run can say: one frozen class each. The store, the socket and the API carry the same.

Text comes only through TextAdded. When what a step has said turns out not to be the answer (it
went on to use a tool, or these were thoughts), TextRetracted takes back all that was added since
the step's StepStarted. Once the answer stands, SentenceReplaced puts one sentence in the place of
another. What is left at the end is the answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from chat.agent.values import Source, Usage

FinalStatus = Literal["complete", "stopped", "truncated", "failed", "empty"]


@dataclass(frozen=True, slots=True)
class StepStarted:
    type: ClassVar[str] = "step_started"
    step: int


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """`subject` is what a person reads: the query, or the address of the page."""

    type: ClassVar[str] = "tool_started"
    call: str
    tool: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """`passed_over` holds (provider, reason) pairs; `error` is empty when the tool worked; `said`
    is what came of it as a sentence, where a count would not tell."""

    type: ClassVar[str] = "tool_finished"
    call: str
    tool: str
    n_results: int = 0
    seconds: float = 0.0
    provider: str = ""
    passed_over: tuple[tuple[str, str], ...] = ()
    error: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class SourceFound:
    """A new source, or one of which more was read: the number says which."""

    type: ClassVar[str] = "source_found"
    source: Source


@dataclass(frozen=True, slots=True)
class TextAdded:
    type: ClassVar[str] = "text_added"
    text: str


@dataclass(frozen=True, slots=True)
class TextRetracted:
    """`note` is what the model said before it used a tool; empty when it was thoughts."""

    type: ClassVar[str] = "text_retracted"
    note: str = ""


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The run must answer with what it has. `limit` is a phrase such as "8 steps"."""

    type: ClassVar[str] = "limit_reached"
    limit: str


@dataclass(frozen=True, slots=True)
class FollowupsSuggested:
    type: ClassVar[str] = "followups_suggested"
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentenceFailed:
    """The sentence at [start, end) of the text so far does not pass: `problem` is one sentence.

    The first of a run also says that the text has ended.
    """

    type: ClassVar[str] = "sentence_failed"
    start: int
    end: int
    problem: str


@dataclass(frozen=True, slots=True)
class SentenceReplaced:
    """What stood at [start, end) of the text so far is now `text`; what follows it moves along."""

    type: ClassVar[str] = "sentence_replaced"
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class SentenceUnsupported:
    """The sentence at [start, end) of the text so far stays, marked as not supported."""

    type: ClassVar[str] = "sentence_unsupported"
    start: int
    end: int
    problem: str


@dataclass(frozen=True, slots=True)
class TextCorrected:
    """The whole text as it is stored, where cleaning it at the end changed it. Marks of sentences
    told before it no longer hold; those that do are told again."""

    type: ClassVar[str] = "text_corrected"
    text: str


@dataclass(frozen=True, slots=True)
class CitationAdded:
    """A claim, as a span of the answer, rests on a passage of a source (counted from 0 among the
    source's passages; None when the source has no text)."""

    type: ClassVar[str] = "citation_added"
    number: int
    start: int
    end: int
    passage: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The last event of every run. `reason` tells a person what happened and what to do."""

    type: ClassVar[str] = "run_finished"
    status: FinalStatus
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    n_steps: int = 0


AgentEvent = (
    StepStarted
    | ToolStarted
    | ToolFinished
    | SourceFound
    | TextAdded
    | TextRetracted
    | LimitReached
    | FollowupsSuggested
    | SentenceFailed
    | SentenceReplaced
    | SentenceUnsupported
    | TextCorrected
    | CitationAdded
    | RunFinished
)


def event_data(event: AgentEvent) -> dict[str, Any]:
    """The event's fields as JSON takes them, without its type.

    A source is told by its card alone: its snapshot belongs to the table of sources.
    """
    if isinstance(event, SourceFound):
        source = event.source
        return {
            "number": source.number,
            "title": source.title,
            "url": source.url,
            "domain": source.domain,
        }
    return asdict(event)
