"""Messages are indexed in the background, once, and found where no task came."""

from __future__ import annotations

import pytest
from kombu.exceptions import OperationalError

from chat.models import Message, Source
from chat.store import Ending, end_run
from memory import later, service, tasks
from memory.index_models import Mark, Part
from tests.web.conftest import begun

pytestmark = pytest.mark.django_db


def answered(owner, question="Why does ice float?", answer="It is less dense [1].", **more):
    run = begun(owner, question, **more)
    Source.objects.create(
        run=run, number=1, url="https://ice.test/", provider="Page",
        snapshot="Ice is less dense than water.", read_at=run.started_at,
    )  # fmt: skip
    end_run(run.pk, 0, [], Ending(status="complete", text=answer))
    return run


@pytest.fixture
def handed(monkeypatch):
    """The messages that were handed over, in place of a queue."""
    told = []
    monkeypatch.setattr(later, "_send_beside", lambda task, ids: told.extend(ids))
    return told


def test_question_and_answer_are_handed_over_when_they_are_committed(
    alice, handed, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        run = answered(alice)
        assert handed == []
    assert handed == [run.question_id, run.answer_id]


def test_what_was_read_is_remembered_before_the_answer(alice):
    run = answered(alice)
    tasks.remember(run.answer_id)
    keys = list(Part.objects.order_by("first_row").values_list("key", flat=True))
    assert keys == [f"m{run.question_id}", f"s{run.sources.get().pk}", f"m{run.answer_id}"]


def test_the_same_message_again_or_too_early_changes_nothing(alice):
    run = answered(alice)
    second = answered(alice, "And salt water?", conversation=run.conversation_id)
    for message_id in (second.answer_id, run.question_id, second.answer_id, run.answer_id):
        tasks.remember(message_id)
    assert Mark.objects.count() == Message.objects.count() == 4
    assert Part.objects.count() == 6


def test_an_answer_that_is_still_being_written_waits(alice):
    run = begun(alice)
    tasks.remember(run.answer_id)
    assert not Mark.objects.exists()
    service.recall(alice.pk, run.conversation_id, run.answer_id, "ice", 100)
    assert list(Mark.objects.values_list("pk", flat=True)) == [run.question_id]


def test_a_message_that_is_gone_is_no_fault(alice):
    tasks.remember(4_000_000)


def test_the_backlog_finds_what_no_task_came_for(alice):
    run = answered(alice)
    still = begun(alice)
    tasks.index_backlog()
    marked = set(Mark.objects.values_list("pk", flat=True))
    assert marked == {run.question_id, run.answer_id, still.question_id}


def test_a_queue_that_cannot_be_reached_is_told_and_nothing_else(monkeypatch, caplog):
    def refuse(*args, **options):
        raise OperationalError("refused")

    monkeypatch.setattr(tasks.remember, "apply_async", refuse)
    later.send(tasks.remember, [1])
    assert "the queue is out of reach" in caplog.text


def test_a_message_without_words_is_indexed_with_no_part(alice):
    run = begun(alice)
    end_run(run.pk, 0, [], Ending(status="empty", text=""))
    tasks.remember(run.answer_id)
    assert Mark.objects.filter(pk=run.answer_id).exists()
    assert Part.objects.count() == 1
    packed = service.recall(alice.pk, run.conversation_id, run.answer_id, "ice", 100)
    assert [line.message_id for line in packed.lines] == [f"m{run.question_id}"]


def test_a_stranger_recalls_nothing(alice, charlie):
    run = answered(alice)
    tasks.remember(run.answer_id)
    with pytest.raises(service.NotTheirs):
        service.recall(charlie.pk, run.conversation_id, run.answer_id, "ice", 100)
    other = answered(charlie)
    with pytest.raises(service.NotTheirs):
        service.recall(charlie.pk, other.conversation_id, run.answer_id, "ice", 100)
    with pytest.raises(service.NotTheirs):
        service.recall(charlie.pk, run.conversation_id, other.answer_id, "ice", 100)
