"""The memory page beside its files: summaries, the index, and forgetting both."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.importing import import_conversation
from chat.models import Conversation, Message, User
from memory.models import IndexState, Mark, Summary
from memory.overview import SUMMARIES_SHOWN
from memory.summary_store import MAX_TRIES
from memory.tasks import index_backlog

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(alice: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(alice)


def talk(owner: User, title: str = "A long talk") -> Conversation:
    told = [{"role": "user", "content": "My boat leaks."}, {"role": "assistant", "content": "Oh."}]
    conversation = import_conversation(owner, told)
    conversation.title = title
    conversation.save()
    return conversation


def summary_of(conversation: Conversation, **more: Any) -> Summary:
    first, last = conversation.messages.order_by("pk").values_list("pk", flat=True)
    made = {
        "status": "made",
        "text": "The boat leaks.\nNothing was done.",
        "made_at": timezone.now(),
        "model_name": "llama",
        "n_messages": 2,
        "first_at": timezone.now() - timedelta(days=40),
        "last_at": timezone.now(),
    }
    failed = {"status": "failed", "n_messages": 2}
    return Summary.objects.create(
        owner=conversation.owner,
        conversation=conversation,
        first_message=first,
        last_message=last,
        **({"next_try_at": timezone.now()} | (failed if more else made) | more),
    )


def html_of(page: Client, path: str = "/memory/") -> str:
    return " ".join(page.get(path).content.decode().split())


def test_a_summary_is_shown_with_its_span_and_leads_to_it(page: Client, alice: User) -> None:
    row = summary_of(talk(alice))
    html = html_of(page)
    assert "The boat leaks." in html
    assert "Written by llama" in html
    assert "2 messages" in html
    assert f"/c/{row.conversation_id}/?at={row.first_message}#turn-{row.first_message}" in html


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"status": "wanted"}, "Waits for the background worker"),
        ({"error": "The model is busy.", "tries": 2}, "Failed: The model is busy. Next try: <time"),
        ({"error": "No.", "tries": MAX_TRIES}, f"Given up after {MAX_TRIES} tries: No."),
    ],
)
def test_what_became_of_a_summary_is_said_in_words(
    page: Client, alice: User, state: dict[str, Any], told: str
) -> None:
    summary_of(talk(alice), **state)
    html = html_of(page)
    assert told in html
    assert ("Try again now" in html) == ("error" in state)


def test_one_that_is_being_made_says_so(page: Client, alice: User) -> None:
    soon = timezone.now() + timedelta(minutes=1)
    summary_of(talk(alice), status="wanted", worked_on_until=soon)
    assert "Being made" in html_of(page)


def test_a_failed_summary_is_tried_again(page: Client, alice: User) -> None:
    row = summary_of(talk(alice), error="No.", tries=MAX_TRIES)
    response = page.post(f"/memory/summaries/{row.pk}/retry/")
    assert response.headers["Location"] == "/memory/#summaries"
    row.refresh_from_db()
    assert row.tries == 0
    assert row.next_try_at <= timezone.now()


def test_one_that_has_not_failed_is_not_tried_again(page: Client, alice: User) -> None:
    row = summary_of(talk(alice))
    assert page.post(f"/memory/summaries/{row.pk}/retry/").status_code == 404
    assert page.post("/memory/summaries/99999/retry/").status_code == 404


def test_a_strangers_summary_is_not_there_to_be_tried(page: Client, charlie: User) -> None:
    row = summary_of(talk(charlie), error="No.", tries=MAX_TRIES)
    assert page.post(f"/memory/summaries/{row.pk}/retry/").status_code == 404
    row.refresh_from_db()
    assert row.tries == MAX_TRIES


def test_many_summaries_take_no_more_queries_and_the_rest_is_a_link_away(
    page: Client, alice: User
) -> None:
    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            html_of(page)
        return len(queries)

    summary_of(talk(alice))
    html_of(page)
    once = n_queries()
    for _ in range(SUMMARIES_SHOWN + 1):
        summary_of(talk(alice))
    assert n_queries() == once
    assert "2 more summaries" in html_of(page)
    assert html_of(page, "/memory/?all").count("What it says") == SUMMARIES_SHOWN + 2


def test_the_index_is_told_in_words(page: Client, alice: User) -> None:
    talk(alice)
    assert "It knows 0 of the 2 messages" in html_of(page)
    index_backlog()
    assert "It knows all 2 messages" in html_of(page)
    IndexState.objects.update(problem="The embedder is away.")
    assert "The embedder is away." in html_of(page)


def test_what_holds_for_a_conversation_is_shown_and_forgotten(
    page: Client, alice: User, charlie: User
) -> None:
    mine, theirs = talk(alice, "My talk"), talk(charlie, "Their talk")
    Conversation.objects.filter(pk=mine.pk).update(name="Kasper", style="briefly <b>")
    Conversation.objects.filter(pk=theirs.pk).update(name="Charles")
    html = html_of(page)
    assert "Kasper" in html
    assert "briefly &lt;b&gt;" in html
    assert "Charles" not in html
    page.post("/memory/forget/", {"sure": "yes"})
    mine.refresh_from_db()
    theirs.refresh_from_db()
    assert (mine.name, mine.style, theirs.name) == ("", "", "Charles")
    assert "Kasper" not in html_of(page)


def test_forgetting_everything_takes_summaries_and_index_and_leaves_what_was_said(
    page: Client, alice: User, charlie: User
) -> None:
    mine, theirs = talk(alice), talk(charlie, "Charlie's")
    summary_of(mine)
    summary_of(theirs)
    index_backlog()
    assert "Your conversations stay" in html_of(page)
    page.post("/memory/forget/", {"sure": "yes"})
    assert [one.owner for one in Summary.objects.all()] == [charlie]
    assert [one.owner for one in IndexState.objects.all()] == [charlie]
    assert Mark.objects.count() == 2
    assert Message.objects.filter(conversation=mine).count() == 2


def test_nothing_of_another_person_is_shown(page: Client, charlie: User) -> None:
    summary_of(talk(charlie, "Charlie's talk"))
    index_backlog()
    html = html_of(page)
    assert "Charlie" not in html
    assert "boat leaks" not in html
    assert "Forget everything" not in html
