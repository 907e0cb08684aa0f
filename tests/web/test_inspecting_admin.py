"""Conversations in the admin: counts and structure for operators, words for whoever may read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from chat.inspecting.permission import may_see_content
from chat.models import Conversation, Run, User
from tests.web.long_turn import packed_turn

pytestmark = pytest.mark.django_db

WORDS = ("keel", "Marlene", "Marlen", "rains", "Turku", "boats.test")


@pytest.fixture
def run(charlie: User) -> Run:
    """A turn of somebody who is no operator, with a title that says what it is about."""
    run = packed_turn(charlie)
    Conversation.objects.filter(pk=run.conversation_id).update(title="Marlene and her keel")
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


def test_whoever_may_read_sees_the_words(
    operator: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.inspecting.admin.may_see_content", lambda operator, owner: True)
    html = operator.get(pages_of(run)["turn"]).content.decode()
    assert "The keel is 2.40 metres long." in html
    assert f'href="/c/{run.conversation_id}/' not in html


def test_one_may_read_what_is_ones_own(alice: User, charlie: User) -> None:
    assert may_see_content(alice, alice)
    assert not may_see_content(alice, charlie)


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
