"""Rows of summaries. Owns the transactions; what is read and written is one owner's.

A row is claimed before it is worked on, and only who holds the claim may write it: a message that
is deleted in the meantime takes the claim away, and with it what was made from that message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from memory.engine import spans, summaries
from memory.engine.values import Span
from memory.summary_models import Summarised, Summary

MAX_TRIES = 5
FIRST_WAIT = timedelta(minutes=1)
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A claimed row: `claim` is its token, `tries` counts this one. Messages are oldest first."""

    summary_id: int
    owner_id: int
    conversation_id: int
    message_ids: tuple[int, ...]
    tries: int
    claim: datetime

    @property
    def is_last_try(self) -> bool:
        return self.tries >= MAX_TRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A summary, when its first and last message were said, the model that wrote it ("" for
    none), and why none did although one is there."""

    summary: summaries.Summary
    first_at: datetime | None
    last_at: datetime | None
    model_name: str = ""
    error: str = ""


# --- Wishes -------------------------------------------------------------------------------------


def want(owner_id: int, conversation_id: int, left: Sequence[int], most_spans: int) -> list[int]:
    """Makes sure that there is a row for every planned span of the messages `left`, oldest first,
    and no wish for a narrower one; returns the rows that are new."""
    with transaction.atomic():
        rows = _locked(Summary.objects.of(owner_id, conversation_id))
        placed = _placed(rows, left)
        done = [span for row, span in placed if row.status == Summary.Status.MADE]
        plan = [
            span
            for span in spans.planned_spans(len(left), most_spans)
            if not any(_holds(made, span) for made in done)
        ]
        narrow = [
            row.pk
            for row, span in placed
            if row.status != Summary.Status.MADE
            and any(_holds(one, span) and one != span for one in [*plan, *done])
        ]
        if narrow:
            Summary.objects.filter(pk__in=narrow).delete()
        there = {span for _, span in placed}
        return [
            _wanted(owner_id, conversation_id, left[span.start : span.end])
            for span in plan
            if span not in there
        ]


def _locked(rows: QuerySet[Summary]) -> list[Summary]:
    """The rows, held until the transaction ends. All who hold several take them in this order, so
    that no two wait for each other."""
    return list(rows.select_for_update().order_by("pk"))


def _placed(rows: Iterable[Summary], path: Sequence[int]) -> list[tuple[Summary, Span]]:
    """The rows that lie on the path, and where."""
    places = {pk: place for place, pk in enumerate(path)}
    found = [(row, spans.span_of((row.first_message, row.last_message), places)) for row in rows]
    return [(row, span) for row, span in found if span is not None]


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _wanted(owner_id: int, conversation_id: int, message_ids: Sequence[int]) -> int:
    row, is_new = Summary.objects.get_or_create(
        conversation_id=conversation_id,
        first_message=message_ids[0],
        last_message=message_ids[-1],
        defaults={
            "owner_id": owner_id,
            "n_messages": len(message_ids),
            "next_try_at": timezone.now(),
        },
    )
    if is_new:
        members = [
            Summarised(summary=row, message_id=pk, place=place)
            for place, pk in enumerate(message_ids)
        ]
        Summarised.objects.bulk_create(members, batch_size=_BATCH)
    return row.pk


def due(now: datetime, limit: int) -> list[int]:
    """Rows that nobody works on and whose time to be tried has come, those waiting longest first.

    What was tried too often is left alone.
    """
    idle = _idle(Summary.objects.exclude(status=Summary.Status.MADE), now)
    return list(idle.order_by("next_try_at", "pk").values_list("pk", flat=True)[:limit])


def _idle(rows: QuerySet[Summary], now: datetime) -> QuerySet[Summary]:
    free = Q(worked_on_until__isnull=True) | Q(worked_on_until__lt=now)
    return rows.filter(free, next_try_at__lte=now, tries__lt=MAX_TRIES)


# --- Work ---------------------------------------------------------------------------------------


def claim(summary_id: int, lease: timedelta) -> Job | None:
    """Takes a row to work on; None where there is nothing to do, or somebody does it already."""
    now = timezone.now()
    until = now + lease
    with transaction.atomic():
        row = Summary.objects.select_for_update().filter(pk=summary_id)
        open_row = _idle(row.exclude(status=Summary.Status.MADE), now).first()
        if open_row is None or not _set_ends(open_row):
            return None
        row.update(worked_on_until=until, tries=F("tries") + 1)
        members = open_row.members.order_by("place").values_list("message_id", flat=True)
        return Job(
            summary_id=open_row.pk,
            owner_id=open_row.owner_id,
            conversation_id=open_row.conversation_id,
            message_ids=tuple(members),
            tries=open_row.tries + 1,
            claim=until,
        )


def _set_ends(row: Summary) -> bool:
    """Where the span lies now that some of its messages may be gone. False when nothing is left of
    it, or another row has the same span: then this one goes."""
    left = list(row.members.order_by("place").values_list("message_id", flat=True))
    others = Summary.objects.filter(conversation=row.conversation_id).exclude(pk=row.pk)
    if not left or others.filter(first_message=left[0], last_message=left[-1]).exists():
        row.delete()
        return False
    if (row.first_message, row.last_message, row.n_messages) != (left[0], left[-1], len(left)):
        row.first_message, row.last_message, row.n_messages = left[0], left[-1], len(left)
        row.save(update_fields=["first_message", "last_message", "n_messages"])
    return True


def finish(job: Job, made: Made) -> bool:
    """Keeps what was made and lets narrower spans go. False when the claim was lost: then nothing
    is kept."""
    with transaction.atomic():
        _locked(Summary.objects.of(job.owner_id, job.conversation_id))
        kept = _claimed(job).update(
            status=Summary.Status.MADE,
            text=made.summary.text,
            order=list(made.summary.order),
            n_tokens=made.summary.n_tokens,
            first_at=made.first_at,
            last_at=made.last_at,
            model_name=made.model_name[:200],
            error=made.error,
            made_at=timezone.now(),
            worked_on_until=None,
        )
        if kept:
            members = Summarised.objects.filter(summary=job.summary_id).values("message_id")
            inside = Summary.objects.filter(
                conversation=job.conversation_id,
                first_message__in=members,
                last_message__in=members,
            )
            inside.exclude(pk=job.summary_id).delete()
    return bool(kept)


def fail(job: Job, error: str) -> None:
    """Notes why, and when to try again: after twice the time of the last wait."""
    _claimed(job).update(
        status=Summary.Status.FAILED,
        error=error,
        next_try_at=timezone.now() + FIRST_WAIT * 2 ** (job.tries - 1),
        worked_on_until=None,
    )


def try_again(rows: QuerySet[Summary]) -> bool:
    """Takes the wait from failed rows, and what they were tried before. False when none is."""
    failed = rows.filter(status=Summary.Status.FAILED)
    return failed.update(tries=0, next_try_at=timezone.now(), worked_on_until=None) > 0


def _claimed(job: Job) -> QuerySet[Summary]:
    return Summary.objects.filter(pk=job.summary_id, worked_on_until=job.claim)


# --- Forgetting ---------------------------------------------------------------------------------


def forget_message(message_id: int) -> list[int]:
    """Empties every summary that a message is in, which is about to go, and takes it from whoever
    works on it; returns those to be made again."""
    holding = Summarised.objects.filter(message=message_id).values("summary_id")
    busy = Q(worked_on_until__isnull=False) | ~Q(status=Summary.Status.WANTED)
    with transaction.atomic(savepoint=False):
        touched = [row.pk for row in _locked(Summary.objects.filter(busy, pk__in=holding))]
        Summary.objects.filter(pk__in=touched).update(
            status=Summary.Status.WANTED,
            text="",
            order=[],
            n_tokens=0,
            model_name="",
            error="",
            tries=0,
            next_try_at=timezone.now(),
            worked_on_until=None,
            made_at=None,
        )
    return touched


# --- Reading ------------------------------------------------------------------------------------


def shown(owner_id: int, conversation_id: int, left: Sequence[int]) -> list[Summary]:
    """The summaries to show for the messages `left` of a path, oldest first."""
    rows = Summary.objects.of(owner_id, conversation_id).filter(status=Summary.Status.MADE)
    placed = [(span, row) for row, span in _placed(rows.exclude(text=""), left)]
    return spans.cover(placed, len(left))


def all_of(owner_id: int, conversation_id: int) -> list[Summary]:
    """Every row, by where it begins."""
    return list(Summary.objects.of(owner_id, conversation_id))
