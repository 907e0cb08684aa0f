"""A rare word goes through everything that Lumina does, is deleted, and is looked for everywhere.

The word is planted by real turns, so what a later part of Lumina keeps of a turn is planted too,
and looked for, without being named here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from chat.accounts.links import the_owner
from chat.forgetting import forget_account
from chat.models import Conversation, Message, Run, Source, User
from memory.models import Summary
from memory.tasks import index_backlog
from memory.tasks_summaries import summarise_span
from tests.servers.model_script import call, say
from tests.servers.search import Row, searxng_answer
from tests.servers.web import html_reply, web_server
from tests.web.everywhere import files_with, tables_with

pytestmark = pytest.mark.django_db(transaction=True)

RARE = "Qxzanthip"
PAGE = f"My sister lives in {RARE}, says the page. {RARE} lies at the sea."
TALK = "Tell me about the weather, please."


@dataclass(frozen=True)
class Planted:
    owner: User
    conversation: int
    question: int
    answer: int


@pytest.fixture(autouse=True)
def site(settings: Any) -> Iterator[str]:
    """A search engine that finds one page with the word."""
    with web_server() as server:
        row = Row(title=f"About {RARE}", url=f"{server.url}/{RARE}", text=PAGE)
        server.routes["/search"] = searxng_answer([row])
        server.routes[f"/{RARE}"] = html_reply(f"<article><p>{PAGE * 9}</p></article>")
        settings.LUMINA_FETCH_ALLOWED_HOSTS = [server.url.removeprefix("http://")]
        settings.LUMINA_WEB = True
        settings.LUMINA_SEARCH_PROVIDERS = ["searxng"]
        settings.LUMINA_SEARXNG_URL = server.url
        # The first turn soon leaves the window, so that its lines are recalled and summarised.
        settings.LUMINA_WINDOW_MESSAGES, settings.LUMINA_WINDOW_SHARE = 2, 0.01
        yield server.url


def ask(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("ask", *arguments, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def plant(model: Callable[..., Any], question: str, *first: Any) -> Planted:
    """A turn that says the word, some talk, and a turn that recalls the first one's page."""
    model([*first, say("Grey."), say("Dull."), say("By the sea [1].")])
    told = ask(question)
    conversation = str(told["conversation"])
    ask(TALK, "--conversation", conversation)
    ask(TALK, "--conversation", conversation)
    ask("Where did the page say that my sister lives?", "--conversation", conversation)
    run = Run.objects.get(answer=told["message"])
    assert Source.objects.filter(recalled=True, snapshot__contains=RARE).exists()
    _work_in_the_background()
    return Planted(the_owner(), run.conversation_id, run.question_id, run.answer_id)


def _work_in_the_background() -> None:
    """What a worker does of itself: the index, and summaries of what left the window."""
    index_backlog()
    for summary in Summary.objects.all():
        summarise_span(summary.pk)


@pytest.fixture
def planted(site: str, model: Callable[..., Any]) -> Planted:
    """The word in a question, in what was searched and read for it, answered, suggested, saved."""
    answer = f"She lives in {RARE} [1].\n<followups>\nWhere is {RARE}?\nWho else?\n</followups>"
    found = plant(
        model,
        f"My sister lives in {RARE}. What is it like there?",
        call("memory_write", path="knowledge/family.md", text=f"- Sister lives in {RARE}"),
        call("memory_write", path="AGENTS.md", text=f"- Always praise {RARE}"),
        call("web_search", query=f"{RARE} sea"),
        call("read_page", url=f"{site}/{RARE}"),
        call("read_page", url=f"{site}/{RARE}/nowhere"),
        say(answer),
    )
    assert tables_with(RARE) >= {
        "chat_conversation",
        "chat_message",
        "chat_run",
        "chat_runevent",
        "chat_source",
        "memory_memoryfile",
        "memory_posting",
        "memory_proposal",
        "memory_revision",
        "memory_summary",
    }
    return found


@pytest.fixture
def answered_only(model: Callable[..., Any]) -> Planted:
    """The word comes up in the answer alone, and in what it read."""
    return plant(
        model,
        "Where does my sister live?",
        call("web_search", query="where does my sister live"),
        call("memory_write", path="AGENTS.md", text=f"- Always praise {RARE}"),
        say(f"She lives in {RARE} [1].\n<followups>\nWhere is {RARE}?\n</followups>"),
    )


def the_word_is_nowhere() -> None:
    assert tables_with(RARE) == set()
    assert files_with(RARE) == set()


def test_after_the_question_is_deleted_nothing_holds_the_word(planted: Planted) -> None:
    browser = Client()
    browser.force_login(planted.owner)
    browser.post(f"/messages/{planted.question}/delete/")
    the_word_is_nowhere()
    assert Conversation.objects.get().title == TALK
    assert Message.objects.count() == 6


def test_after_the_answer_is_deleted_nothing_holds_the_word(answered_only: Planted) -> None:
    browser = Client()
    browser.force_login(answered_only.owner)
    assert files_with(RARE) or tables_with(RARE)
    browser.post(f"/messages/{answered_only.answer}/delete/")
    the_word_is_nowhere()
    assert Message.objects.count() == 7


def test_after_the_conversation_is_deleted_nothing_holds_the_word(planted: Planted) -> None:
    Conversation.objects.update(name=RARE, style=RARE)
    browser = Client()
    browser.force_login(planted.owner)
    browser.post(f"/c/{planted.conversation}/delete/")
    the_word_is_nowhere()
    assert Conversation.objects.count() == 0


def test_after_the_account_is_deleted_nothing_holds_the_word(planted: Planted) -> None:
    User.objects.filter(pk=planted.owner.pk).update(last_name=RARE)
    forget_account(planted.owner)
    the_word_is_nowhere()
    assert User.objects.count() == 0


def test_a_text_that_is_there_is_found(planted: Planted) -> None:
    """The search itself: it finds what was not deleted, in tables and in the file's bytes."""
    assert "chat_message" in tables_with(RARE.upper())
    assert tables_with("never said by anyone") == set()
    assert len(files_with(RARE)) == (1 if "sqlite" in str(files_with(RARE)) else 0)
