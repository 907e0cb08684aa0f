"""What summaries ask of the conversation: its messages, a model, and limits for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.ports import MessageReader, ReadMessage


class SummaryFailed(Exception):
    """Why no summary came, as a sentence for a person."""


class Summariser(Protocol):
    """A model that summarises. Given by the chat."""

    @property
    def name(self) -> str: ...

    def answers(self, told: str, chunks: Sequence[str], *, max_tokens: int) -> Sequence[str]:
        """What the model writes of each chunk, told what to do. Raises SummaryFailed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryLimits:
    """At most `spans` summaries of a path with `tokens` each; a model reads `chunk_tokens` at a
    time, writes `answer_tokens`, and has `seconds` for a whole span."""

    spans: int
    tokens: int
    chunk_tokens: int
    answer_tokens: int
    seconds: float


@dataclass(slots=True)
class Means:
    """What the chat gives when it starts."""

    reader: MessageReader
    summariser: Callable[[], Summariser | None]
    limits: Callable[[], SummaryLimits]


_connected: list[Means] = []


def summarise_with(
    reader: MessageReader,
    summariser: Callable[[], Summariser | None],
    limits: Callable[[], SummaryLimits],
) -> None:
    """Connects summaries to the conversation. A summariser of None means: quote."""
    _connected[:] = [Means(reader, summariser, limits)]


def means() -> Means:
    return _connected[0]


def is_own(message: ReadMessage, owner_id: int, conversation_id: int) -> bool:
    return message.owner_id == owner_id and message.conversation_id == conversation_id
