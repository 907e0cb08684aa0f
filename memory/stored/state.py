"""How much of a conversation is in its index, for whoever looks after it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from memory.index_models import IndexState, Mark, Part
from memory.stored.formats import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedState:
    """Counts of all branches. `n_unencoded` parts (messages, pages) have no vectors and are found
    by words alone; `problem` says why, in plain words. An index that is not `is_current` was made
    by an older version, and is built anew when it is asked for."""

    n_messages: int = 0
    n_parts: int = 0
    n_lines: int = 0
    n_unencoded: int = 0
    problem: str = ""
    is_current: bool = True


def index_state(conversation_id: int) -> IndexedState:
    row = IndexState.objects.filter(pk=conversation_id).first()
    if row is None:
        return IndexedState()
    parts = Part.objects.filter(block__state_id=conversation_id)
    counts = parts.aggregate(
        parts=Count("pk"), lines=Sum("n_lines"), unencoded=Count("pk", filter=Q(space=""))
    )
    return IndexedState(
        n_messages=Mark.objects.filter(block__state_id=conversation_id).count(),
        n_parts=counts["parts"],
        n_lines=counts["lines"] or 0,
        n_unencoded=counts["unencoded"],
        problem=row.problem,
        is_current=row.version == VERSION,
    )
