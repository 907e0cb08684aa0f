"""What is kept of a person's conversations beside the files, in words for their memory page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from memory.index_models import IndexState, Mark
from memory.later import later
from memory.ports import MessageReader
from memory.summary_models import Summary
from memory.summary_store import MAX_TRIES, try_again
from memory.tasks_summaries import summarise_span

SUMMARIES_SHOWN = 30
MOST_COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class ShownSummary:
    """A summary, or the wish for one, with what there is to say of it."""

    row: Summary
    now: datetime

    @property
    def title(self) -> str:
        return str(self.row.conversation)

    @property
    def state(self) -> str:
        row = self.row
        if row.status == Summary.Status.MADE:
            return f"Written by {row.model_name}" if row.model_name else "Quoted from the messages"
        if row.worked_on_until and row.worked_on_until > self.now:
            return "Being made"
        if row.status == Summary.Status.FAILED:
            given_up = row.tries >= MAX_TRIES
            return f"Given up after {row.tries} tries" if given_up else "Failed"
        return "Waits for the background worker"

    @property
    def next_try_at(self) -> datetime | None:
        """When it is tried again by itself."""
        row = self.row
        waits = row.status == Summary.Status.FAILED and row.tries < MAX_TRIES
        return row.next_try_at if waits else None

    @property
    def can_be_tried(self) -> bool:
        return self.row.status == Summary.Status.FAILED


def shown_summaries(owner_id: int, limit: int | None) -> tuple[list[ShownSummary], int]:
    """Those of the conversations used last first, and how many are not shown."""
    rows = _summaries(owner_id).select_related("conversation")
    rows = rows.order_by("-conversation__updated_at", "-conversation_id", "first_message", "pk")
    n_all = rows.count()
    now = timezone.now()
    shown = [ShownSummary(row, now) for row in (rows if limit is None else rows[:limit])]
    return shown, n_all - len(shown)


def retry_summary(owner_id: int, summary_id: int) -> bool:
    """Has a failed summary tried again now. False when there is no such one."""
    row = _summaries(owner_id).filter(pk=summary_id)
    if not try_again(row):
        return False
    later(summarise_span, [summary_id])
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOverview:
    """How many of a person's messages can be found by their lines, and what is amiss."""

    n_indexed: int
    n_missing: int
    problems: Sequence[str]

    @property
    def n_messages(self) -> int:
        return self.n_indexed + self.n_missing


def index_overview(reader: MessageReader, owner_id: int) -> IndexOverview:
    states = IndexState.objects.filter(owner=owner_id)
    problems = states.exclude(problem="").order_by("problem").values_list("problem", flat=True)
    marks = Mark.objects.filter(block__owner=owner_id)
    missing = reader.pending(marks.values("message_id"), MOST_COUNTED, owner_id=owner_id)
    return IndexOverview(
        n_indexed=marks.count(),
        n_missing=len(missing),
        problems=tuple(problems.distinct()),
    )


def _summaries(owner_id: int) -> QuerySet[Summary, Any]:
    return Summary.objects.filter(owner=owner_id)
