"""Choosing what a model sees of a long history: pure, deterministic, no model needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from memory.engine.embedders import default_embedder
from memory.engine.history import History
from memory.engine.ports import Embedder
from memory.engine.tokens import CountTokens
from memory.engine.values import Message, Packed, PackedLine, PackedMessage, Policy, Receipt

__all__ = [
    "History",
    "Message",
    "Packed",
    "PackedLine",
    "PackedMessage",
    "Receipt",
    "default_embedder",
    "pack",
]


def pack(
    messages: Iterable[Message],
    question: str,
    budget_tokens: int,
    *,
    embedder: Embedder | None = None,
    count_tokens: CountTokens | None = None,
    now: datetime | None = None,
    policy: Policy = "fill",
    keep_newest: int = 0,
    shown: Collection[str | int] = (),
    first_source: int | None = None,
) -> Packed:
    """`History(messages).pack(question, …)` for a history that is packed once."""
    history = History(messages, embedder=embedder, count_tokens=count_tokens)
    return history.pack(
        question,
        budget_tokens,
        now=now,
        policy=policy,
        keep_newest=keep_newest,
        shown=shown,
        first_source=first_source,
    )
