"""Searching what was said: the page and the agent's tool, for the owner and for a stranger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chat.database import in_database
from chat.forgetting import forget_message
from chat.importing import import_conversation
from chat.models import Conversation, Message, User
from tests.servers.model_script import call, say
from tests.web.conftest import begun
from tests.web.test_pages import answered

FILLER = "The weather was grey and dull. " * 30


@pytest.fixture
def browser(alice: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(alice)


def said(owner: User, *texts: str, title: str = "") -> Conversation:
    """A conversation in which these things were said in turn, the person first."""
    roles = ("user", "assistant")
    told = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    conversation = import_conversation(owner, told)
    if title:
        Conversation.objects.filter(pk=conversation.pk).update(title=title)
    return conversation


def search(browser: Client, **asked: Any) -> str:
    response = browser.get("/search/", asked)
    assert response.status_code == 200
    return response.content.decode()


def hits(page: str) -> list[str]:
    """The excerpts as plain text."""
    found = re.findall(r'<p class="hit-excerpt"[^>]*>(.*?)</p>', page, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", one) for one in found]


# --- What is found ------------------------------------------------------------------------------


@pytest.mark.django_db
def test_any_of_the_words_is_enough_and_the_rarer_ones_come_first(
    alice: User, browser: Client
) -> None:
    said(alice, "My boiler has a code.", "Noted.", "The code of the boiler is 4711.", "Noted too.")
    found = hits(search(browser, q="boiler 4711 zebra"))
    assert found[0] == "The code of the boiler is 4711."
    assert "My boiler has a code." in found
    assert "Noted." not in found


@pytest.mark.django_db
def test_a_match_far_into_a_message_is_shown_and_marked(alice: User, browser: Client) -> None:
    said(alice, f"{FILLER}The boiler code is 4711. {FILLER}")
    page = search(browser, q="boiler")
    assert "The <mark>boiler</mark> code is 4711." in page
    assert len(hits(page)[0]) <= 502


@pytest.mark.django_db
def test_a_word_is_found_in_another_form(alice: User, browser: Client) -> None:
    said(alice, "I worked at the harbour.", "A fine place.")
    assert hits(search(browser, q="working")) == ["I worked at the harbour."]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["%", "'", '"', '"unclosed', "*", "?", "\\", "'; DROP TABLE x; --", "🙂", "()", "   "]
)
def test_signs_alone_find_nothing_and_break_nothing(
    alice: User, browser: Client, query: str
) -> None:
    said(alice, "The boiler code is 4711.", "Noted.")
    assert hits(search(browser, q=query)) == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["boiler AND zebra", "NEAR(boiler)", "boiler*", '"boiler', "-boiler"]
)
def test_operators_are_plain_words(alice: User, browser: Client, query: str) -> None:
    said(alice, "The boiler code is 4711.", "Noted.")
    assert hits(search(browser, q=query)) == ["The boiler code is 4711."]


@pytest.mark.django_db
def test_what_was_said_is_escaped(alice: User, browser: Client) -> None:
    said(alice, "<script>alert('boiler')</script>", title="<b>Boiler</b>")
    page = search(browser, q='boiler"><script>')
    assert "<script>alert" not in page
    assert "<b>Boiler" not in page


# --- Narrowing ----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_it_can_be_narrowed_to_who_where_and_when(alice: User, browser: Client) -> None:
    first = said(alice, "A boiler question?", "A boiler answer.")
    other = said(alice, "Another boiler question?", "Another boiler answer.")
    old = Message.objects.filter(conversation=first)
    old.update(created_at=datetime(2026, 3, 31, 23, 30, tzinfo=ZoneInfo("UTC")))
    Message.objects.filter(conversation=other).update(
        created_at=datetime(2026, 4, 1, 0, 30, tzinfo=ZoneInfo("UTC"))
    )
    assert len(hits(search(browser, q="boiler"))) == 4
    assert set(hits(search(browser, q="boiler", role="user"))) == {
        "A boiler question?",
        "Another boiler question?",
    }
    assert set(hits(search(browser, q="boiler", within=first.pk))) == {
        "A boiler question?",
        "A boiler answer.",
    }
    march = hits(search(browser, q="boiler", since="2026-03-31", until="2026-03-31"))
    assert set(march) == {"A boiler question?", "A boiler answer."}
    assert hits(search(browser, q="boiler", until="2026-03-30")) == []
    assert len(hits(search(browser, q="boiler", since="2026-04-01"))) == 2


@pytest.mark.django_db
def test_days_are_those_of_the_persons_zone(alice: User, browser: Client) -> None:
    User.objects.filter(pk=alice.pk).update(time_zone="Pacific/Auckland")
    said(alice, "A boiler question?")
    Message.objects.update(created_at=datetime(2026, 3, 31, 23, 30, tzinfo=ZoneInfo("UTC")))
    assert hits(search(browser, q="boiler", since="2026-04-01", until="2026-04-01"))
    assert not hits(search(browser, q="boiler", until="2026-03-31"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"since": "yesterday"},
        {"until": "2026-13-01"},
        {"role": "system"},
        {"within": "x"},
        {"since": "2026-02-01", "until": "2026-01-01"},
        {"q": "x" * 500},
    ],
)
def test_a_wrong_filter_is_told_and_the_words_stay(browser: Client, wrong: dict[str, str]) -> None:
    response = browser.get("/search/", {"q": "boiler"} | wrong)
    assert response.status_code == 400
    assert b'role="alert"' in response.content
    assert (wrong.get("q") or "boiler").encode() in response.content


# --- Where a result leads -----------------------------------------------------------------------


@pytest.mark.django_db
def test_a_result_leads_to_the_message_even_in_another_version(
    alice: User, browser: Client
) -> None:
    old = answered(alice, "The old code is 1234.", "one")
    answered(alice, "The new one.", "uno", edits=old.question_id)
    address = re.search(r'<h2><a href="([^"]+)"', search(browser, q="1234"))
    assert address
    assert address[1] == f"/c/{old.conversation_id}/?at={old.answer_id}#turn-{old.question_id}"
    assert b"The old code is 1234." in browser.get(address[1]).content


@pytest.mark.django_db
def test_what_was_deleted_is_not_found(alice: User, browser: Client) -> None:
    run = answered(alice, "The code is 1234.", "one")
    answered(alice, "Fine.", "two", conversation=run.conversation_id)
    forget_message(alice, run.answer_id)
    assert hits(search(browser, q="1234")) == []


# --- Strangers ----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_nothing_of_another_person_is_found(alice: User, charlie: User, browser: Client) -> None:
    said(charlie, "The boiler code is 4711.", "Noted: boiler 4711.")
    assert hits(search(browser, q="boiler 4711")) == []


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["within", "beside"])
def test_another_persons_conversation_is_not_there(
    charlie: User, browser: Client, name: str
) -> None:
    theirs = said(charlie, "The boiler code is 4711.", title="Their boiler")
    response = browser.get("/search/", {"q": "boiler", name: theirs.pk})
    assert response.status_code == 404
    assert b"Their boiler" not in response.content


# --- Speed --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_more_results_take_no_more_queries(alice: User, browser: Client) -> None:
    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            search(browser, q="boiler")
        return len(queries)

    said(alice, "The boiler.")
    search(browser, q="boiler")
    few = n_queries()
    for at in range(12):
        said(alice, f"The boiler {at}.", f"Boiler {at} it is.")
    search(browser, q="boiler")  # whoever looks first has what is missing indexed
    assert n_queries() == few


# --- The agent's tool ---------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_the_agent_finds_what_was_said_in_another_conversation_and_not_its_own_question(
    page_of: Any, alice: User, charlie: User, model: Any
) -> None:
    await in_database(said)(alice, "The boiler code is [1] 4711.", "Noted [1].", title="Boiler")
    await in_database(said)(charlie, "The boiler code of Charlie is 9999.")
    server = model([call("search_history", query="boiler code"), say("It is 4711.")])
    page = await page_of(alice)
    heard = json.dumps(await page.ask("What is my boiler code?"))
    told = json.loads(server.requests[-1].body["messages"][-1]["content"])
    assert [one["text"] for one in told["found"]] == ["The boiler code is (1) 4711."]
    assert told["found"][0]["conversation"] == "Boiler"
    assert "9999" not in json.dumps(server.requests[-1].body)
    assert "Searched the conversations for" in heard


@pytest.mark.django_db(transaction=True)
async def test_the_agent_can_stay_within_its_conversation(
    page_of: Any, alice: User, model: Any
) -> None:
    await in_database(said)(alice, "The boiler code is 4711.")
    server = model(
        [call("search_history", query="boiler", where="this"), say("I do not know."), say("Bye.")]
    )
    page = await page_of(alice)
    await page.ask("What is my boiler code?")
    told = json.loads(server.requests[-1].body["messages"][-1]["content"])
    assert told["found"] == []


@pytest.mark.django_db(transaction=True)
async def test_days_that_the_agent_names_are_those_of_the_person(
    page_of: Any, alice: User, model: Any
) -> None:
    await in_database(said)(alice, "The boiler code is 4711.")
    day = datetime(2026, 3, 31, 23, 30, tzinfo=ZoneInfo("UTC"))
    await in_database(Message.objects.update)(created_at=day)
    asked = call("search_history", query="boiler", since="2026-04-01", until="2026-04-01")
    server = model([asked, say("It is 4711.")])
    page = await page_of(alice)
    await page.ask("What is my boiler code?", time_zone="Europe/Berlin")
    told = json.loads(server.requests[-1].body["messages"][-1]["content"])
    assert [one["on"] for one in told["found"]] == ["2026-04-01"]


@pytest.mark.django_db
def test_a_question_that_is_being_answered_is_found_on_the_page(
    alice: User, browser: Client
) -> None:
    begun(alice, "Where is the boiler?")
    assert hits(search(browser, q="boiler")) == ["Where is the boiler?"]
