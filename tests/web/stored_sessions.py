"""Generated sessions put into the database, to be recalled from there and from memory alike."""

from __future__ import annotations

from memory.bench.stored import PlainMessages
from memory.engine.values import Message

__all__ = ["PlainMessages", "conversation_of", "said"]


def conversation_of(owner):
    return PlainMessages().conversation(owner)


def said(text, role="user", **values) -> Message:
    return Message("new", role, text, **values)
