"""Storing the events of many runs at once: each gets its own outcome."""

from __future__ import annotations

import asyncio

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from chat import journal, store
from chat.agent.events import StepStarted, TextAdded
from chat.database import in_database
from chat.models import Run, RunEvent
from tests.web.conftest import begun

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = [StepStarted(1), TextAdded("Ice floats.")]


def seqs_of(run: Run) -> list[int]:
    return list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))


async def test_the_events_of_many_runs_are_stored_together(alice) -> None:
    runs = [await in_database(begun)(alice) for _ in range(5)]
    kept = journal.Journal()
    told = await asyncio.gather(*(kept.add(run.pk, 0, WORDS) for run in runs))
    assert [[event["seq"] for event in one] for one in told] == [[1, 2]] * 5
    again = await asyncio.gather(*(kept.add(run.pk, 2, WORDS[1:]) for run in runs))
    assert [one[0]["run"] for one in again] == [run.pk for run in runs]
    for run in runs:
        assert await in_database(seqs_of)(run) == [1, 2, 3]


def test_ten_runs_take_the_statements_of_one(alice) -> None:
    def statements(n_runs: int) -> int:
        appends = [store.Append(begun(alice).pk, 0, WORDS) for _ in range(n_runs)]
        with CaptureQueriesContext(connection) as asked:
            store.append_all(appends)
        return len([one for one in asked if not one["sql"].startswith("UPDATE")])

    assert statements(10) == statements(1)


def test_a_run_that_was_lost_does_not_take_the_others_with_it(alice) -> None:
    lost, behind, well = (begun(alice) for _ in range(3))
    store.interrupt(lost.pk)
    appends = [
        store.Append(lost.pk, 1, WORDS),
        store.Append(behind.pk, 7, WORDS),
        store.Append(well.pk, 0, WORDS),
    ]
    first, second, third = store.append_all(appends)
    assert isinstance(first, store.RunLost)
    assert isinstance(second, store.RunLost)
    assert [event["seq"] for event in third] == [1, 2]
    assert (seqs_of(lost), seqs_of(behind), seqs_of(well)) == ([1], [], [1, 2])


async def test_a_database_that_is_away_for_a_moment_is_waited_for(alice, monkeypatch) -> None:
    run = await in_database(begun)(alice)
    tries, append_all = [], store.append_all

    def sometimes(appends):
        tries.append(appends)
        if len(tries) < 3:
            raise OperationalError("gone")
        return append_all(appends)

    monkeypatch.setattr(journal, "TRY_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(store, "append_all", sometimes)
    told = await journal.Journal().add(run.pk, 0, WORDS)
    assert [event["seq"] for event in told] == [1, 2]
    assert len(tries) == 3
