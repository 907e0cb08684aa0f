"""What the agent asks of the world. The implementations live outside, in `chat.providers`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from chat.agent.values import (
    CitedSentence,
    History,
    HistoryHit,
    HistoryQuery,
    MemoryReply,
    Message,
    Page,
    SearchOutcome,
    SearchResult,
    Source,
    ToolCall,
    ToolSpec,
    Usage,
)


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Thoughts that the server sends apart from the answer. Never shown, never stored."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallMade:
    """A whole call: the adapter has put its pieces together. Raw arguments may be broken JSON."""

    call: ToolCall


FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "unknown"]


@dataclass(frozen=True, slots=True)
class Finished:
    """The last thing of every stream that did not fail. `usage` is None when nobody counted."""

    reason: FinishReason
    usage: Usage | None = None


ModelEvent = TextDelta | ReasoningDelta | ToolCallMade | Finished


class ChatModel(Protocol):
    """A model that reads messages and streams an answer or tool calls."""

    @property
    def name(self) -> str:
        """What the page calls it."""
        ...

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, max_tokens: int
    ) -> AsyncIterator[ModelEvent]:
        """One step. Closing the iterator closes the request to the server at once.

        With `tools` empty the model must answer. Raises a ModelError; ends with Finished.
        """
        ...


class SearchProvider(Protocol):
    """One search engine or library."""

    @property
    def name(self) -> str: ...

    async def search(self, query: str, *, limit: int) -> Sequence[SearchResult]:
        """Results best first, at most `limit`, possibly none. Raises SearchFailed."""
        ...


class Searcher(Protocol):
    """Providers in order: the first with results wins, the others are named."""

    async def search(self, query: str, *, limit: int) -> SearchOutcome:
        """Never raises for a provider's fault: no results and the reasons are an outcome."""
        ...


class PageReader(Protocol):
    async def read(self, url: str) -> Page:
        """The page's text. Raises PageRefused or PageFailed."""
        ...


class Recall(Protocol):
    """Chooses what of the conversation the model sees."""

    async def recall(self, question: str, *, budget_tokens: int) -> History:
        """Clean messages, oldest first, the question itself not among them.

        `budget_tokens` is a hard limit on what the messages cost together.
        """
        ...


class MemoryFiles(Protocol):
    """The person's notes, as one turn may use them. Every method raises MemoryRefused.

    A change rests on what the person said: their live question, or the earlier message of the
    conversation that holds `quote`. What does not waits for their yes, and the reply says so.
    """

    async def list_files(self) -> MemoryReply: ...

    async def read(self, path: str, *, start_line: int) -> MemoryReply: ...

    async def write(self, path: str, text: str, *, replaces: str, quote: str) -> MemoryReply: ...

    async def forget(self, path: str, text: str, *, quote: str) -> MemoryReply: ...


class HistorySearch(Protocol):
    """What was said between the person and the agent, on every path of every conversation."""

    async def search(self, query: HistoryQuery) -> Sequence[HistoryHit]:
        """The best first, at most `query.limit`. The live question is never found."""
        ...


class CitationReader(Protocol):
    """Knows what of an answer's text is shown as a citation."""

    def cited_sentences(self, text: str, sources: Sequence[Source]) -> Sequence[CitedSentence]:
        """The sentences that cite a source, in the order of the text, none overlapping."""
        ...


class SentenceChecker(Protocol):
    async def problem(self, claim: str, cited: Sequence[Source], *, context: str) -> str:
        """What the passages of the cited sources do not hold, as a phrase such as "“146” is not
        there"; empty when they bear the claim out.

        `context` is the question and the whole answer: how a word is used elsewhere may tell what
        it is. It is no evidence.
        """
        ...


class Clock(Protocol):
    def now(self) -> datetime:
        """The current time, aware, in the zone of the person who asks."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...


class StopSignal(Protocol):
    def is_set(self) -> bool: ...

    async def wait(self) -> object:
        """Returns once the person has asked to stop."""
        ...
