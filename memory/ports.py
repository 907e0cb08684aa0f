"""What memory asks of the conversation. `chat` implements it; memory never imports `chat`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.engine.values import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMessage:
    """A stored message as memory reads it. `parts` are what was read before it was answered, then
    what was said: ids "s…" and "m…"; none for an answer that said nothing."""

    id: int
    owner_id: int
    conversation_id: int
    parent_id: int | None
    parts: tuple[Message, ...]


class MessageReader(Protocol):
    def read(self, message_ids: Sequence[int]) -> list[ReadMessage]:
        """Those of the messages that exist, in the order asked for."""
        ...

    def path(self, conversation_id: int, head_id: int | None) -> list[int]:
        """The ids from the first message to the head, oldest first."""
        ...
