"""How much of a conversation is in its index, for whoever looks after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Count, Sum

from memory.index_models import IndexState, Mark, Part
from memory.stored.formats import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedState:
    """Counts of all branches. `n_encoded` parts (messages, pages) have vectors, by the name of the
    encoder; the others are found by words alone, and `problem` says why, in plain words. An index
    that is not `is_current` was made by an older version: it is built anew when it is asked for."""

    n_indexed: int = 0
    n_parts: int = 0
    n_lines: int = 0
    n_encoded: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    is_current: bool = True

    @property
    def n_unencoded(self) -> int:
        return self.n_parts - sum(self.n_encoded.values())


def index_state(conversation_id: int) -> IndexedState:
    row = IndexState.objects.filter(pk=conversation_id).first()
    if row is None:
        return IndexedState()
    parts = Part.objects.filter(block__state_id=conversation_id)
    spaces = parts.values_list("space").annotate(n=Count("pk"), lines=Sum("n_lines")).order_by()
    rows = list(spaces)
    return IndexedState(
        n_indexed=Mark.objects.filter(block__state_id=conversation_id).count(),
        n_parts=sum(n for _, n, _ in rows),
        n_lines=sum(lines for _, _, lines in rows),
        n_encoded={space: n for space, n, _ in rows if space},
        problem=row.problem,
        is_current=row.version == VERSION,
    )
