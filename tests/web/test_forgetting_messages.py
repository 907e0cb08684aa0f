"""Deleting one message: what goes, what stays, and who may."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chat import store
from chat.agent.events import FollowupsSuggested, SourceFound
from chat.agent.sources import SourceRegistry
from chat.agent.values import EarlierSource, SearchResult
from chat.forgetting import forget_account, forget_conversation, forget_message, what_goes
from chat.memory_reader import StoredMessages
from chat.models import Citation, Conversation, Message, Run, RunEvent, Source, User
from chat.turns import path_page
from memory.models import Mark
from memory.service import recall
from memory.tasks import index_backlog
from tests.web.conftest import begun
from tests.web.test_pages import answered

pytestmark = pytest.mark.django_db

COPIED = "Ice is less dense than water."


def conversation_of(owner: User, *questions: str) -> list[Run]:
    """Turns that follow each other in one conversation."""
    runs: list[Run] = []
    for question in questions:
        more = {"conversation": runs[0].conversation_id} if runs else {}
        runs.append(answered(owner, f"About {question} [1].", question, **more))
    return runs


def shown(conversation_id: int) -> list[tuple[str, str]]:
    """The questions and answers that the page of a conversation shows."""
    page = path_page(Conversation.objects.get(pk=conversation_id))
    return [(turn.question.text, turn.answer.text if turn.answer else "") for turn in page.turns]


def earlier(source: Source, *passages: str) -> EarlierSource:
    return EarlierSource(
        ref=f"s{source.pk}",
        title=source.title,
        url=source.url,
        provider=source.provider,
        read_at=source.read_at,
        passages=passages,
    )


def recalling(owner: User, source: Source, *passages: str, reads: str = "") -> Source:
    """What a later turn keeps of an earlier source; with `reads` it reads the page again."""
    run = begun(owner, "And why?", conversation=source.run.conversation_id)
    registry = SourceRegistry()
    found, _ = registry.add_earlier(earlier(source, *passages))
    if reads:
        result = SearchResult(title=source.title, url=source.url, text=reads)
        found, _ = registry.add_result(result, provider="Test", read_at=timezone.now())
    store.append_events(run.pk, 0, [SourceFound(found)])
    Run.objects.filter(pk=run.pk).update(status="complete", finished_at=timezone.now())
    return Source.objects.get(run=run)


# --- The tree -----------------------------------------------------------------------------------


def test_a_question_goes_with_its_answer_and_the_rest_stays(alice: User) -> None:
    runs = conversation_of(alice, "one", "two", "three")
    left = forget_message(alice, runs[1].question_id)
    assert left.conversation_id == runs[0].conversation_id
    assert left.question_id == runs[0].question_id
    assert shown(runs[0].conversation_id) == [
        ("one", "About one [1]."),
        ("three", "About three [1]."),
    ]
    assert not Run.objects.filter(pk=runs[1].pk).exists()
    assert not Source.objects.filter(run=runs[1].pk).exists()


def test_an_answer_goes_alone_and_its_question_says_that_it_has_none(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    runs = conversation_of(alice, "one", "two")
    left = forget_message(alice, runs[0].answer_id)
    assert left.question_id == runs[0].question_id
    assert shown(runs[0].conversation_id) == [("one", ""), ("two", "About two [1].")]
    page = browser_of(alice).get(f"/c/{runs[0].conversation_id}/")
    assert b"This question has no answer." in page.content


def test_after_a_deleted_version_the_other_answer_carries_the_rest(alice: User) -> None:
    runs = conversation_of(alice, "one")
    newer = answered(alice, "Newer.", regenerates=runs[0].answer_id)
    after = answered(alice, "After.", "two", conversation=newer.conversation_id)
    forget_message(alice, newer.answer_id)
    assert shown(newer.conversation_id) == [("one", "About one [1]."), ("two", "After.")]
    question = Message.objects.get(pk=after.question_id)
    assert question.parent_id == runs[0].answer_id


def test_the_other_version_of_a_question_stays_and_is_shown(alice: User) -> None:
    runs = conversation_of(alice, "zero", "one")
    edited = answered(alice, "Edited.", "uno", edits=runs[1].question_id)
    forget_message(alice, edited.question_id)
    assert shown(edited.conversation_id)[-1] == ("one", "About one [1].")


def test_deleting_what_the_page_does_not_show_changes_nothing_that_it_shows(alice: User) -> None:
    runs = conversation_of(alice, "one", "two")
    edited = answered(alice, "Edited.", "dos", edits=runs[1].question_id)
    before = shown(edited.conversation_id)
    forget_message(alice, runs[1].question_id)
    assert shown(edited.conversation_id) == before


def test_follow_ups_of_a_deleted_first_question_begin_the_conversation(alice: User) -> None:
    runs = conversation_of(alice, "one", "two")
    forget_message(alice, runs[0].question_id)
    assert shown(runs[0].conversation_id) == [("two", "About two [1].")]
    assert Message.objects.get(pk=runs[1].question_id).parent_id is None


def test_the_last_message_takes_the_conversation_with_it(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    assert what_goes(Message.objects.get(pk=run.question_id)).is_all
    assert forget_message(alice, run.question_id).conversation_id is None
    assert Conversation.objects.count() == 0


def test_a_question_can_be_asked_where_an_answer_was_deleted(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    forget_message(alice, run.answer_id)
    again = answered(alice, "Again.", "two", conversation=run.conversation_id)
    assert shown(again.conversation_id) == [("one", ""), ("two", "Again.")]
    turn = path_page(Conversation.objects.get(pk=again.conversation_id)).turns[1]
    assert turn.question_versions.ids == (again.question_id,)


# --- What keeps a message's words ---------------------------------------------------------------


def test_the_title_comes_from_what_is_left(alice: User) -> None:
    runs = conversation_of(alice, "one", "two")
    forget_message(alice, runs[0].question_id)
    assert Conversation.objects.get().title == "two"


def test_a_name_that_the_person_gave_stays(alice: User) -> None:
    runs = conversation_of(alice, "one", "two")
    Conversation.objects.update(title="My own")
    forget_message(alice, runs[0].question_id)
    assert Conversation.objects.get().title == "My own"


def test_receipts_of_later_turns_no_longer_name_it(alice: User) -> None:
    runs = conversation_of(alice, "one", "two")
    message, source = runs[0].answer_id, Source.objects.filter(run=runs[0]).first()
    assert source is not None
    kept = {"message": runs[0].question_id, "tokens": 3}
    runs[1].receipt = {
        "window_from": message,
        "window": [{"message": message, "tokens": 9}, kept],
        "lines": [{"ref": f"m{message}"}, {"ref": f"s{source.pk}"}, {"ref": "m99999"}],
    }
    runs[1].save()
    forget_message(alice, message)
    runs[1].refresh_from_db()
    assert runs[1].receipt == {
        "window_from": None,
        "window": [kept],
        "lines": [{"ref": "m99999"}],
    }


def test_a_question_that_was_suggested_is_not_suggested_any_more(alice: User) -> None:
    run = begun(alice, "one")
    store.append_events(run.pk, 0, [FollowupsSuggested(("two?", "three?"))])
    ended = {"status": "complete", "finished_at": timezone.now()}
    Run.objects.filter(pk=run.pk).update(followups=["two?", "three?"], **ended)
    second = answered(alice, "Yes.", "two?", conversation=run.conversation_id)
    forget_message(alice, second.question_id)
    run.refresh_from_db()
    assert run.followups == ["three?"]
    assert RunEvent.objects.get(run=run).data == {"questions": ["three?"]}


# --- What was recalled of a source --------------------------------------------------------------


def test_a_recalled_copy_goes_with_its_origin_and_so_does_its_card(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    copy = recalling(alice, run.sources.get(number=1), COPIED)
    assert copy.recalled
    Citation.objects.create(answer=copy.run.answer, source=copy, start=0, end=1)
    forget_message(alice, run.answer_id)
    assert not Source.objects.filter(pk=copy.pk).exists()
    card = RunEvent.objects.get(run=copy.run, type="source_found").data
    assert card == {"number": 1, "title": "", "url": "", "domain": ""}
    assert not Citation.objects.filter(answer=copy.run.answer).exists()


def test_what_a_turn_read_itself_stays_in_its_place(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    mixed = recalling(alice, run.sources.get(number=1), COPIED, reads="Salt water is denser.")
    assert mixed.snapshot == f"{COPIED}\n\nSalt water is denser."
    forget_message(alice, run.question_id)
    mixed.refresh_from_db()
    assert mixed.snapshot == " " * len(COPIED) + "\n\nSalt water is denser."
    assert [one.text for one in mixed.passages.all()] == ["Salt water is denser."]


def test_a_copy_of_a_copy_goes_too(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    mixed = recalling(alice, run.sources.get(number=1), COPIED, reads="Salt water is denser.")
    old = recalling(alice, mixed, COPIED)
    new = recalling(alice, mixed, "Salt water is denser.")
    forget_message(alice, run.answer_id)
    assert not Source.objects.filter(pk=old.pk).exists()
    assert Source.objects.get(pk=new.pk).snapshot == "Salt water is denser."


def test_of_two_origins_the_other_stays(alice: User) -> None:
    runs = conversation_of(alice, "one", "two")
    first, second = (one.sources.get(number=1) for one in runs)
    registry = SourceRegistry()
    registry.add_earlier(earlier(first, COPIED))
    both, _ = registry.add_earlier(earlier(second, "Lakes freeze from above."))
    run = begun(alice, "three", conversation=runs[0].conversation_id)
    store.append_events(run.pk, 0, [SourceFound(both)])
    Run.objects.filter(pk=run.pk).update(status="complete", finished_at=timezone.now())
    forget_message(alice, runs[0].answer_id)
    assert Source.objects.get(run=run).snapshot.strip() == "Lakes freeze from above."


def test_an_answer_that_is_continued_keeps_where_its_sources_came_from(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    copy = recalling(alice, run.sources.get(number=1), COPIED)
    found = store.sources_of(copy.run)
    assert [one.ref for one in found[0].origins] == [f"s{run.sources.get(number=1).pk}"]


def test_memory_reads_nothing_of_what_went(alice: User) -> None:
    runs = conversation_of(alice, "one", "two")
    forget_message(alice, runs[0].question_id)
    head = Conversation.objects.get().head_id
    reader = StoredMessages()
    read = reader.read(reader.path(runs[0].conversation_id, head))
    assert [one.pk for one in read] == [runs[1].question_id, runs[1].answer_id]


def test_what_is_left_is_indexed_anew_and_recalled(alice: User) -> None:
    runs = conversation_of(alice, "the boiler", "the harbour", "the lighthouse")
    index_backlog()
    forget_message(alice, runs[1].question_id)
    assert Mark.objects.count() == 0
    index_backlog()
    assert Mark.objects.count() == 4
    conversation = Conversation.objects.get()
    asked = "What of the boiler, the harbour and the lighthouse?"
    packed = recall(alice.pk, conversation.pk, conversation.head_id, asked, 2_000)
    whole = " ".join(line.text for line in packed.lines)
    assert "boiler" in whole
    assert "lighthouse" in whole
    assert "harbour" not in whole


# --- Who and when -------------------------------------------------------------------------------


def test_nothing_is_deleted_while_an_answer_is_being_written(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    begun(alice, "two", conversation=run.conversation_id)
    with pytest.raises(store.Refused, match="Stop it first"):
        forget_message(alice, run.question_id)
    assert Message.objects.filter(pk=run.question_id).exists()


def test_an_answer_whose_process_died_does_not_hold_up_deleting(alice: User) -> None:
    run = conversation_of(alice, "one")[0]
    dead = begun(alice, "two", conversation=run.conversation_id)
    long_ago = timezone.now() - timedelta(hours=1)
    Run.objects.filter(pk=dead.pk).update(heartbeat_at=long_ago)
    forget_message(alice, run.question_id)
    assert shown(run.conversation_id) == [("two", "")]


def test_a_stranger_deletes_nothing(alice: User, charlie: User) -> None:
    run = conversation_of(alice, "one")[0]
    with pytest.raises(store.Refused):
        forget_message(charlie, run.question_id)
    with pytest.raises(store.Refused):
        forget_conversation(charlie, run.conversation_id)
    assert Message.objects.count() == 2


def test_an_account_goes_with_everything_and_nobody_elses(alice: User, charlie: User) -> None:
    conversation_of(alice, "one", "two")
    mine = conversation_of(charlie, "mine")[0]
    begun(alice, "still running")
    forget_account(alice)
    assert [one.username for one in User.objects.all()] == ["charlie"]
    assert [one.pk for one in Run.objects.all()] == [mine.pk]


# --- The page -----------------------------------------------------------------------------------


@pytest.fixture
def browser(alice: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(alice)


def test_the_confirmation_says_what_goes_and_deletes_nothing(alice: User, browser: Client) -> None:
    runs = conversation_of(alice, "one", "two")
    page = browser.get(f"/messages/{runs[0].question_id}/delete/")
    text = " ".join(page.content.decode().split())
    assert "1 answer" in text
    assert "2 sources" in text
    assert Message.objects.count() == 4


def test_a_yes_deletes_and_leads_to_the_place(alice: User, browser: Client) -> None:
    runs = conversation_of(alice, "one", "two")
    response = browser.post(f"/messages/{runs[1].question_id}/delete/")
    assert response.headers["Location"] == (
        f"/c/{runs[0].conversation_id}/?at={runs[0].question_id}#turn-{runs[0].question_id}"
    )
    assert Message.objects.count() == 2


def test_the_page_of_the_last_message_leads_home(alice: User, browser: Client) -> None:
    run = conversation_of(alice, "one")[0]
    page = browser.get(f"/messages/{run.question_id}/delete/")
    assert b"whole conversation" in page.content
    assert browser.post(f"/messages/{run.question_id}/delete/").headers["Location"] == "/"


def test_a_refusal_is_told_on_the_page(alice: User, browser: Client) -> None:
    run = conversation_of(alice, "one")[0]
    begun(alice, "two", conversation=run.conversation_id)
    response = browser.post(f"/messages/{run.question_id}/delete/")
    assert response.status_code == 409
    assert b"Stop it first" in response.content
