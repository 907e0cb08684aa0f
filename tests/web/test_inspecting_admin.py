"""Conversations in the admin: counts and structure for operators, words for whoever may read."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from chat.accounts import content
from chat.models import AuditEntry, Conversation, Run, User
from memory.service import forget_index, index_state
from tests.web.long_turn import packed_turn

pytestmark = pytest.mark.django_db

WORDS = ("keel", "Marlene", "Marlen", "rains", "Turku", "boats.test")


@pytest.fixture
def run(charlie: User) -> Run:
    """A turn of somebody who is no operator, with a title and facts that say what it is about."""
    run = packed_turn(charlie)
    told = {"title": "Marlene and her keel", "name": "Marlene", "style": "like Marlene"}
    Conversation.objects.filter(pk=run.conversation_id).update(**told)
    return run


@pytest.fixture
def operator(browser_of: Callable[[User], Client]) -> Client:
    """An operator who may look at conversations and nothing else."""
    user = User.objects.create_user("olga", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_conversation"))
    return browser_of(user)


def pages_of(run: Run) -> dict[str, str]:
    turn = f"/admin/chat/conversation/{run.conversation_id}/turns/{run.pk}/"
    return {
        "list": "/admin/chat/conversation/",
        "state": f"/admin/chat/conversation/{run.conversation_id}/",
        "turn": turn,
        "repacked": f"{turn}?budget=300",
        "compared": f"{turn}?compare=newest",
    }


def test_an_operator_sees_structure_and_counts_and_no_word(operator: Client, run: Run) -> None:
    for name, path in pages_of(run).items():
        for headers in ({}, {"X-Fragment": "1"}):
            response = operator.get(path, headers=headers)
            assert response.status_code == 200, name
            html = response.content.decode()
            for word in WORDS:
                assert word.casefold() not in html.casefold(), (name, word)
    html = operator.get(pages_of(run)["turn"]).content.decode()
    assert "you may see the structure, not the words" in html
    assert "has words of the question" in html
    assert "Web page" in html
    assert "1,000 tokens" in html
    assert f"/c/{run.conversation_id}/" not in html


def test_the_state_page_leads_to_every_turn(operator: Client, run: Run) -> None:
    pages = pages_of(run)
    assert f'href="{pages["turn"]}"' in operator.get(pages["state"]).content.decode()
    assert f'href="{pages["state"]}"' in operator.get(pages["list"]).content.decode()


def test_whoever_has_stated_a_reason_reads_for_that_time_and_in_the_open(
    browser_of: Callable[[User], Client], charlie: User, run: Run
) -> None:
    olga = User.objects.create_user("olga", is_staff=True)
    names = ("view_conversation", "open_content")
    olga.user_permissions.add(*Permission.objects.filter(codename__in=names))
    operator, path = browser_of(olga), pages_of(run)["turn"]
    assert "Marlene" not in operator.get(path).content.decode()
    content.open_content(olga, charlie, "Charlie asked for help with this.", 1)
    html = operator.get(path).content.decode()
    assert "The keel is 2.40 metres long." in html
    assert f'href="/c/{run.conversation_id}/' not in html
    target = f"conversation {run.conversation_id}"
    read = AuditEntry.objects.filter(action=AuditEntry.Action.CONTENT_READ, target=target)
    assert [(one.by_name, one.about_name) for one in read] == [("olga", "charlie")]
    content.close(olga, charlie)
    assert "Marlene" not in operator.get(path).content.decode()


def test_others_find_no_conversations_there(
    browser_of: Callable[[User], Client], charlie: User, run: Run
) -> None:
    nobody = User.objects.create_user("nils", is_staff=True)
    for (name, path), user in product(pages_of(run).items(), (charlie, nobody)):
        response = browser_of(user).get(path)
        assert response.status_code in {302, 403}, (name, user)


def test_a_turn_is_found_in_its_own_conversation_alone(operator: Client, run: Run) -> None:
    other = packed_turn(User.objects.create_user("dora"))
    mixed = f"/admin/chat/conversation/{other.conversation_id}/turns/{run.pk}/"
    assert operator.get(mixed).status_code == 404
    assert operator.get("/admin/chat/conversation/999999/").status_code == 404


@pytest.mark.parametrize("name", ["list", "state", "turn"])
def test_the_pages_only_show(operator: Client, run: Run, name: str) -> None:
    before = list(Conversation.objects.values())
    assert operator.post(pages_of(run)[name], {"title": "Stolen"}).status_code != 500
    assert list(Conversation.objects.values()) == before
    for gone in ("add", f"{run.conversation_id}/delete", f"{run.conversation_id}/history"):
        assert operator.get(f"/admin/chat/conversation/{gone}/").status_code == 404


# --- The index ------------------------------------------------------------------------------------


@pytest.fixture
def keeper(browser_of: Callable[[User], Client]) -> Client:
    """An operator who may also build indexes anew."""
    user = User.objects.create_user("kira", is_staff=True)
    names = ("view_conversation", "change_conversation")
    user.user_permissions.add(*Permission.objects.filter(codename__in=names))
    return browser_of(user)


def row_of(html: str, name: str) -> str:
    found = re.search(rf'<th scope="row">{name}</th><td>(.*?)</td>', html)
    assert found is not None
    return found[1]


def test_the_state_page_says_how_much_is_indexed_and_what_waits(operator: Client, run: Run) -> None:
    """All but the question that was asked last and its answer, which is being written."""
    html = operator.get(pages_of(run)["state"]).content.decode()
    n_messages = run.conversation.messages.count()
    assert row_of(html, "Messages indexed") == str(n_messages - 2)
    assert row_of(html, "Backlog") == "1 message waiting, an answer is being written"
    assert row_of(html, "Failures") == "None"
    assert "Rebuild the index" not in html


def test_the_index_is_built_anew_by_a_button(keeper: Client, run: Run) -> None:
    path = f"{pages_of(run)['state']}index/"
    forget_index(run.conversation_id)
    html = keeper.get(pages_of(run)["state"]).content.decode()
    assert row_of(html, "Messages indexed") == "0"
    response = keeper.post(path, {"do": "rebuild"}, follow=True)
    html = response.content.decode()
    n_messages = run.conversation.messages.count() - 1
    assert f"The index was built anew: {n_messages} messages." in html
    assert row_of(html, "Messages indexed") == str(n_messages)
    assert row_of(html, "Backlog").startswith("0 messages")
    entry = AuditEntry.objects.get(action=AuditEntry.Action.INDEX_REBUILT)
    assert (entry.about_id, entry.by_name) == (run.owner_id, "kira")
    assert entry.target == f"conversation {run.conversation_id}"


def test_an_index_that_differs_from_the_messages_says_how(keeper: Client, run: Run) -> None:
    path = f"{pages_of(run)['state']}index/"
    same = keeper.post(path, {"do": "check"}, follow=True).content.decode()
    assert "The index is what the messages say." in same
    message = run.conversation.messages.filter(role="user").earliest("pk")
    run.conversation.messages.filter(pk=message.pk).update(model_text="Otherwise. And more.")
    html = keeper.post(path, {"do": "check"}, follow=True).content.decode()
    assert "Up to message" in html
    assert "The index is what the messages say." not in html


def test_the_index_is_left_alone_without_the_permission_and_by_a_get(
    operator: Client, keeper: Client, charlie: User, browser_of: Callable[[User], Client], run: Run
) -> None:
    path = f"{pages_of(run)['state']}index/"
    forget_index(run.conversation_id)
    assert operator.post(path, {"do": "rebuild"}).status_code == 403
    assert browser_of(charlie).post(path, {"do": "rebuild"}).status_code == 302
    assert keeper.get(path).status_code == 405
    assert index_state(run.conversation_id).n_indexed == 0
