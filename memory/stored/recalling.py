"""Recall from the database: the head's index, brought up to date, read by the unchanged packer."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from time import monotonic
from typing import Any

from django.db.models import Model

from memory.engine.ports import Embedder
from memory.engine.tokens import CountTokens, estimate_tokens
from memory.engine.values import Packed, Policy
from memory.index_models import IndexState, Mark
from memory.ports import MessageReader
from memory.stored.chains import path_to
from memory.stored.indexing import StaleIndex, forget_index, index_path, mark_of
from memory.stored.reading import StoredHistory
from memory.stored.totals import Totals

_TRIES = 3


def recall(
    reader: MessageReader,
    owner_id: int,
    conversation_id: int,
    head_id: int | None,
    question: str,
    budget_tokens: int,
    *,
    now: datetime | None = None,
    shown: Collection[str] = (),
    first_source: int | None = 1,
    policy: Policy = "fill",
    count_tokens: CountTokens = estimate_tokens,
    embedder: Embedder | None = None,
) -> Packed:
    """What a model should see of the path that ends with `head_id`, as `History.pack` chooses it.

    Raises NotTheirs where the owner has no such message.
    """
    for tries_left in range(_TRIES - 1, -1, -1):
        try:
            mark = _mark(reader, owner_id, conversation_id, head_id)
            history = open_history(
                reader, mark, question, budget_tokens, count_tokens=count_tokens, embedder=embedder
            )
            return history.pack(
                question,
                budget_tokens,
                now=now,
                policy=policy,
                shown=shown,
                first_source=first_source,
            )
        except StaleIndex:
            if not tries_left:
                raise
            if tries_left == 1:  # not a deletion at the same moment: what is stored does not fit
                forget_index(conversation_id)
    raise AssertionError("the last try returns or raises")


def remember(reader: MessageReader, message_id: int) -> None:
    """Index a message and what is missing before it on its path."""
    for one in reader.read([message_id]):
        if one.is_final:
            index_path(reader, one.owner_id, one.conversation_id, one.pk)


def remember_pending(
    reader: MessageReader, limit: int, *, owner_id: int | None = None, seconds: float | None = None
) -> int:
    """Index messages that are not, the newest first, at most so many and, where it is said, until
    so many seconds are over; says how many were waiting."""
    ends = None if seconds is None else monotonic() + seconds
    pending = reader.pending(Mark.objects.values("message_id"), limit, owner_id=owner_id)
    for message_id in pending:
        if ends is not None and monotonic() > ends:
            break
        if not Mark.objects.filter(pk=message_id).exists():
            remember(reader, message_id)
    return len(pending)


def n_pending(reader: MessageReader, most: int) -> int:
    return len(reader.pending(Mark.objects.values("message_id"), most))


def open_history(
    reader: MessageReader,
    mark: Mark | None,
    question: str,
    budget_tokens: int,
    *,
    count_tokens: CountTokens = estimate_tokens,
    embedder: Embedder | None = None,
) -> StoredHistory:
    """The history that ends with an indexed message; an empty one where there is none."""
    chain = path_to(mark) if mark else {}
    totals = Totals.from_json(mark.totals) if mark else Totals()
    return StoredHistory(
        chain,
        totals,
        reader.read_parts,
        question,
        budget_tokens,
        count_tokens=count_tokens,
        embedder=embedder,
    )


def _mark(
    reader: MessageReader, owner_id: int, conversation_id: int, head_id: int | None
) -> Mark | None:
    if head_id is None:
        return None
    found = mark_of(owner_id, conversation_id, head_id)
    return found or index_path(reader, owner_id, conversation_id, head_id)


def note_problem(problem: str) -> None:
    """Say of every conversation what keeps its lines without vectors."""
    IndexState.objects.exclude(problem=problem).update(problem=problem)


def _messages() -> Any:
    return _related(Mark, "message")


def _related(model: type[Model], name: str) -> Any:
    """All rows of a model of the conversation, which is known here by its relations alone."""
    related: Any = model._meta.get_field(name).related_model
    return related._default_manager.all()


def conversations() -> list[int]:
    """The ids of all conversations, rising."""
    return list(_related(IndexState, "conversation").order_by("pk").values_list("pk", flat=True))
