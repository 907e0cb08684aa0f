"""A link to a message opens it wherever it is: far up, or in a version that is not shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from chat.importing import import_conversation
from chat.models import Conversation, Message, User
from chat.turns import TURNS_A_PAGE, PathPage, path_page
from tests.web.test_pages import answered

pytestmark = pytest.mark.django_db

N_TURNS = 3 * TURNS_A_PAGE


@pytest.fixture
def long_talk(alice: User) -> Conversation:
    told = [
        {"role": role, "content": f"{role} {at}"}
        for at in range(N_TURNS)
        for role in ("user", "assistant")
    ]
    return import_conversation(alice, told)


def questions(page: PathPage) -> list[str]:
    return [turn.question.text for turn in page.turns]


@pytest.mark.parametrize("at", [0, 1, TURNS_A_PAGE, N_TURNS - TURNS_A_PAGE, N_TURNS - 1])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_message_is_on_the_page_that_its_link_opens(
    long_talk: Conversation, at: int, role: str
) -> None:
    message = Message.objects.get(text=f"{role} {at}")
    page = path_page(long_talk, at=message.pk)
    assert f"user {at}" in questions(page)
    assert len(page.turns) <= TURNS_A_PAGE
    assert page.head == long_talk.head_id
    assert not page.is_other_version
    assert page.is_newest == (questions(page)[-1] == f"user {N_TURNS - 1}")


def test_from_there_the_earlier_ones_follow_without_a_gap(long_talk: Conversation) -> None:
    message = Message.objects.get(text=f"user {N_TURNS // 2}")
    page = path_page(long_talk, at=message.pk)
    seen = questions(page)
    while page.before:
        page = path_page(long_talk, before=page.before, at=page.at)
        seen = questions(page) + seen
    assert seen == [f"user {at}" for at in range(len(seen))]


def test_another_version_is_shown_without_being_chosen(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    old = answered(alice, "An old answer.", "one")
    new = answered(alice, "A new answer.", "uno", edits=old.question_id)
    row = Conversation.objects.get(pk=new.conversation_id)
    response = browser_of(alice).get(f"/c/{row.pk}/?at={old.answer_id}")
    shown = response.content.decode()
    assert "An old answer." in shown
    assert "A new answer." not in shown
    assert "another version" in shown
    assert f'name="after" value="{old.answer_id}"' in shown
    row.refresh_from_db()
    assert row.head_id == new.answer_id


def test_a_page_of_older_questions_asks_at_the_end_of_all(
    long_talk: Conversation, alice: User, browser_of: Callable[[User], Client]
) -> None:
    message = Message.objects.get(text="user 3")
    shown = browser_of(alice).get(f"/c/{long_talk.pk}/?at={message.pk}").content.decode()
    assert f'data-after="{long_talk.head_id}"' in shown
    assert f'name="after" value="{long_talk.head_id}"' in shown
    assert "Show the newest questions" in shown


@pytest.mark.parametrize("at", ["", "x", "0", "999999", "9" * 30])
def test_a_place_that_is_not_there_shows_the_newest(
    long_talk: Conversation, alice: User, browser_of: Callable[[User], Client], at: str
) -> None:
    shown = browser_of(alice).get(f"/c/{long_talk.pk}/?at={at}").content.decode()
    assert f"user {N_TURNS - 1}" in shown


def test_another_conversations_message_is_no_place_in_this_one(
    long_talk: Conversation, charlie: User
) -> None:
    other = answered(charlie, "Secret.", "secret?")
    page = path_page(long_talk, at=other.answer_id)
    assert page.at is None
    assert questions(page)[-1] == f"user {N_TURNS - 1}"
