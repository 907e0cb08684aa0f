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

    def pending(self, indexed: QuerySet[Any], limit: int) -> Sequence[int]:
        """Final messages whose ids are not among these, oldest first."""
        ...

    def leaves(self, conversation_id: int) -> list[int]:
        """The ends of all branches of a conversation."""
        ...
