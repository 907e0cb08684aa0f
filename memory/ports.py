"""What memory asks of the conversation: its messages, as the engine reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db.models import QuerySet

from memory.engine.values import Message


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A stored message. `parts` are the messages of the engine that it unfolds to, in order: what
    was read for an answer, then the answer; none where nothing was said. The text of one that
    `is_final` does not change any more."""

    pk: int
    owner_id: int
    conversation_id: int
    parent_id: int | None
    parts: tuple[Message, ...]
    is_final: bool = True


class MessageReader(Protocol):
    def read(self, message_ids: Collection[int]) -> list[ReadMessage]:
        """Those that exist, in any order, in a fixed number of queries."""
        ...

    def read_parts(self, keys: Collection[str]) -> list[Message]:
        """Messages of the engine by their ids, those that exist, in a fixed number of queries."""
        ...

    def path(self, conversation_id: int, head_id: int) -> list[int]:
        """The messages from the first to the head, in order; empty where there is no such head."""
        ...

    def pending(
        self, indexed: QuerySet[Any], limit: int, *, owner_id: int | None = None
    ) -> Sequence[int]:
        """Final messages whose ids are not among these, newest first; of one owner, or of all."""
        ...

    def leaves(self, conversation_id: int) -> list[int]:
        """The ends of all branches of a conversation."""
        ...


@dataclass(frozen=True, slots=True)
class HeldFacts:
    """What was chosen for one conversation, each with what it is called."""

    conversation_id: int
    title: str
    facts: tuple[tuple[str, str], ...]


class ConversationFacts(Protocol):
    """What holds for single conversations of a person: kept by the conversation, shown and
    forgotten with the rest of what is remembered."""

    def held(self, owner_id: int, limit: int) -> list[HeldFacts]:
        """Those used last first, in a fixed number of queries."""
        ...

    def forget(self, owner_id: int) -> int:
        """Empties them for all conversations; says for how many."""
        ...
