"""The events of a run: stored with a gapless `seq`, before anyone is told."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from chat.agent import values
from chat.agent.events import AgentEvent, SourceFound, event_data
from chat.models import Passage, RecalledSpan, Run, RunEvent, Source, User
from chat.statuses import RunStatus


class RunLost(Exception):
    """The run is no longer this process's: it was ended by someone else."""


@dataclass(frozen=True, slots=True)
class Append:
    """Events that a run adds after `last_seq`."""

    run_id: int
    last_seq: int
    events: Sequence[AgentEvent]

    def rows(self) -> list[RunEvent]:
        return [
            RunEvent(run_id=self.run_id, seq=seq, type=event.type, data=event_data(event))
            for seq, event in enumerate(self.events, start=self.last_seq + 1)
        ]


def append_events(run_id: int, last_seq: int, events: Sequence[AgentEvent]) -> list[dict[str, Any]]:
    """Stores the events after `last_seq`; returns them as every reader gets them.

    Raises RunLost when the run was ended by someone else or its events are not where we left them.
    """
    return _store([Append(run_id, last_seq, events)])[0]


def append_all(appends: Sequence[Append]) -> list[list[dict[str, Any]] | Exception]:
    """What `append_events` does for one, for several runs in one transaction.

    Returns for each what it returns or raises: what is wrong with one run is not the others'
    fault. Raises only when the database is away.
    """
    try:
        return [*_store(appends)]
    except (RunLost, DataError, IntegrityError):
        return [_outcome(one) for one in appends]


def _outcome(append: Append) -> list[dict[str, Any]] | Exception:
    try:
        return _store([append])[0]
    except (RunLost, DataError, IntegrityError) as error:
        return error


def _store(appends: Sequence[Append]) -> list[list[dict[str, Any]]]:
    """All or nothing. Raises RunLost when one of the runs is lost."""
    rows = [one.rows() for one in appends]
    with transaction.atomic():
        _advance(appends)
        for one in appends:
            found = [event.source for event in one.events if isinstance(event, SourceFound)]
            keep_sources(one.run_id, found)
        RunEvent.objects.bulk_create([row for of_run in rows for row in of_run])
    return [[as_event(row) for row in of_run] for of_run in rows]


def _advance(appends: Sequence[Append]) -> None:
    """In SQL, as the ORM has no word for many updates with a condition each."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    moves = [
        (one.last_seq + len(one.events), now, one.run_id, RunStatus.RUNNING.value, one.last_seq)
        for one in appends
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {Run._meta.db_table} SET last_seq = %s, heartbeat_at = %s"  # noqa: S608 (a name of ours)
            " WHERE id = %s AND status = %s AND last_seq = %s",
            moves,
        )
        if cursor.rowcount != len(moves):
            raise RunLost


def as_event(row: RunEvent) -> dict[str, Any]:
    """The one form of an event, in the store, on the socket and in the API."""
    return {"run": row.run_id, "seq": row.seq, "type": row.type, **row.data}


def note_receipt(run_id: int, receipt: Mapping[str, Any]) -> None:
    """What a run that goes on has packed, so that it can be looked at before the end."""
    Run.objects.filter(pk=run_id, status=RunStatus.RUNNING).update(receipt=dict(receipt))


def read_events(run_id: int, after: int = 0) -> list[dict[str, Any]]:
    return [as_event(row) for row in RunEvent.objects.filter(run_id=run_id, seq__gt=after)]


def beat(run_ids: Sequence[int]) -> None:
    """Shows that these runs are alive."""
    runs = Run.objects.filter(pk__in=run_ids, status=RunStatus.RUNNING)
    runs.update(heartbeat_at=timezone.now())


def to_stop(run_ids: Sequence[int]) -> list[int]:
    """Those that somebody asked to stop, or that are no longer there to go on."""
    going = Run.objects.filter(pk__in=run_ids, status=RunStatus.RUNNING, stop_requested=False)
    left = set(going.values_list("pk", flat=True))
    return [run_id for run_id in run_ids if run_id not in left]


def request_stop(owner: User, run_id: int) -> bool:
    """Marks the run to stop. False when there is no such run of this owner still running."""
    running = Run.objects.of(owner).filter(pk=run_id, status=RunStatus.RUNNING)
    return running.update(stop_requested=True) == 1


def keep_sources(run_id: int, sources: Iterable[values.Source]) -> None:
    for source in sources:
        _keep_source(run_id, source)


def _keep_source(run_id: int, source: values.Source) -> None:
    row, _ = Source.objects.update_or_create(
        run_id=run_id,
        number=source.number,
        defaults={
            "title": source.title[:500],
            "url": source.url,
            "domain": source.domain[:255],
            "provider": source.provider[:64],
            "snapshot": source.text,
            "snapshot_hash": hashlib.sha256(source.text.encode()).hexdigest(),
            "read_at": source.read_at,
            "published_at": source.published_at,
            "recalled": source.recalled,
        },
    )
    known = set(row.passages.values_list("start", "end"))
    Passage.objects.bulk_create(
        Passage(source=row, start=span.start, end=span.end)
        for span in source.passages
        if (span.start, span.end) not in known
    )
    if source.origins:
        _keep_origins(row, source.origins)


def _keep_origins(row: Source, origins: Sequence[values.Origin]) -> None:
    known = set(row.recalled_spans.values_list("origin_id", "start", "end"))
    found = {(int(one.ref[1:]), one.span.start, one.span.end) for one in origins}
    RecalledSpan.objects.bulk_create(
        RecalledSpan(source=row, origin_id=origin, start=start, end=end)
        for origin, start, end in sorted(found - known)
    )
