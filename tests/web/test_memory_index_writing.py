"""The index is written once, read in few queries, checked, built anew and forgotten."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memory import service
from memory.bench.recall_cost import messages
from memory.bench.stored import counted
from memory.index_models import Block, Event, Mark, Part, Posting, StoredFact
from memory.stored.indexing import index_path
from memory.stored.recalling import recall
from tests.web.stored_sessions import PlainMessages, conversation_of
from tests.web.test_memory_tasks import answered

TABLES = (Block, Mark, Part, Posting, Event, StoredFact)


@pytest.fixture
def reader():
    return PlainMessages()


@pytest.fixture
def indexed(reader):
    def build(owner, n):
        conversation = conversation_of(owner)
        _, head = reader.put(conversation, list(messages(n)))
        index_path(reader, owner.pk, conversation.pk, head.pk)
        return conversation, head

    return build


def reads_of(reader, owner, conversation, head, question, budget=300):
    with counted() as reads:
        recall(reader, owner.pk, conversation.pk, head.pk, question, budget)
    return reads


@pytest.mark.django_db
def test_a_recall_takes_the_same_queries_however_long_the_history(reader, indexed, alice):
    small, large = indexed(alice, 60), indexed(alice, 800)
    for question in ("What is the default size of the buffer?", "zebrafish", "and what of it?"):
        few = reads_of(reader, alice, *small, question)
        many = reads_of(reader, alice, *large, question)
        assert many.n_queries == few.n_queries <= 10


@pytest.mark.django_db
def test_a_recall_reads_what_matches_and_little_more(reader, indexed, alice):
    small, large = indexed(alice, 60), indexed(alice, 800)
    few = reads_of(reader, alice, *small, "zebrafish")
    many = reads_of(reader, alice, *large, "zebrafish")
    stored = sum(len(bytes(data)) for data in Posting.objects.values_list("data", flat=True))
    assert many.n_bytes < few.n_bytes + 6 * 800
    assert many.n_bytes < stored / 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("n_racing", [2, 4])
def test_racing_recalls_index_the_missing_tail_once(alice, n_racing):
    first = answered(alice)
    service.remember(first.answer_id)
    run = answered(
        alice, "And salt water?", "It floats higher.", conversation=first.conversation_id
    )
    ready, found, failed = Barrier(n_racing), [], []

    def ask():
        try:
            ready.wait(timeout=20)
            found.append(
                service.recall(alice.pk, run.conversation_id, run.answer_id, "salt water", 200)
            )
        except BaseException as error:
            failed.append(error)
        finally:
            connection.close()

    threads = [Thread(target=ask) for _ in range(n_racing)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert all(packed == found[0] for packed in found)
    assert found[0].lines
    assert Mark.objects.count() == 4
    assert Part.objects.count() == 6
    assert service.check(run.conversation_id) == []


@pytest.mark.django_db
def test_a_check_finds_the_index_as_a_fresh_one(alice):
    first = answered(alice, "My editor is Vim.")
    again = answered(alice, "My editor is Helix.", conversation=first.conversation_id)
    answered(alice, "My editor is Emacs.", edits=again.question_id)
    service.remember_pending(limit=100)
    assert service.check(first.conversation_id) == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda: Posting.objects.filter(term="ice").update(term="ize"), "terms occur elsewhere"),
        (lambda: Event.objects.all().delete(), "the list of reads is another"),
        (lambda: Part.objects.update(closings=None), "closed in one and open in the other"),
    ],
)
def test_a_check_finds_what_was_harmed_and_a_rebuild_mends_it(alice, harm, told, capsys):
    first = answered(alice, "My editor is Vim.")
    answered(alice, "My editor is Helix.", conversation=first.conversation_id)
    service.remember_pending(limit=100)
    harm()
    with pytest.raises(CommandError, match="1 of 1 conversation differ"):
        call_command("rebuild_index", "--check")
    assert told in capsys.readouterr().out
    call_command("rebuild_index", "--conversation", str(first.conversation_id))
    call_command("rebuild_index", "--check")
    assert "as their messages say" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_conversation_that_is_not_there_is_named():
    with pytest.raises(CommandError, match="no conversation 7"):
        call_command("rebuild_index", "--conversation", "7")


@pytest.mark.django_db
def test_nothing_of_a_deleted_conversation_or_account_stays(alice, charlie):
    for owner in (alice, charlie):
        answered(owner, "My editor is Vim.")
        answered(owner, "My dog is Otto.")
    service.remember_pending(limit=100)
    alice.conversations.first().delete()
    assert set(Block.objects.values_list("owner", flat=True)) == {alice.pk, charlie.pk}
    assert Block.objects.filter(owner=alice).count() == 1
    alice.delete()
    charlie.delete()
    assert [table.__name__ for table in TABLES if table.objects.exists()] == []


@pytest.mark.django_db
def test_a_deleted_message_is_not_recalled_and_the_rest_is(alice):
    first = answered(alice, "My editor is Vim.")
    later = answered(alice, "My editor is Helix.", conversation=first.conversation_id)
    service.remember_pending(limit=100)
    later.question.delete()
    assert not Block.objects.exists()
    packed = service.recall(alice.pk, first.conversation_id, first.answer_id, "editor", 200)
    assert "My editor is Vim." in [line.text for line in packed.lines]
    assert service.check(first.conversation_id) == []
