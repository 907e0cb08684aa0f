"""What an operator may see of others, and how it is known that they saw it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from chat.accounts import content
from chat.accounts.models import AuditEntry
from chat.models import (
    Conversation,
    User,
)
from tests.web.test_pages import answered

pytestmark = pytest.mark.django_db


def test_content_is_opened_with_a_reason_read_with_a_log_and_seen_by_the_person(
    alice: User, charlie: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(charlie, "A secret answer [1].", "A secret question?")
    client = browser_of(alice)
    transcript = f"/people/{charlie.pk}/content/{run.conversation_id}/"
    assert client.get(transcript).status_code == 404
    opened = f"/people/{charlie.pk}/content/open/"
    assert client.post(opened, {"reason": "why", "hours": "1"}).status_code == 403
    assert client.post(opened, {"reason": "", "hours": "1"}).status_code == 400
    assert (
        client.post(opened, {"reason": "Charlie asked for help", "hours": "9"}).status_code == 400
    )
    reason = {"reason": "Charlie asked for help", "hours": "1"}
    assert client.post(opened, reason).status_code == 302
    assert b"secret" not in client.get(f"/people/{charlie.pk}/content/").content
    assert b"A secret answer" in client.get(transcript).content
    page = browser_of(charlie).get("/account/").content.decode()
    assert "Charlie asked for help" in page
    assert f"read a conversation: charlie · conversation {run.conversation_id}" in page
    client.post(f"/people/{charlie.pk}/content/close/")
    assert client.get(transcript).status_code == 404
    done = set(AuditEntry.objects.filter(about_id=charlie.pk).values_list("action", flat=True))
    assert {"content_opened", "content_read", "content_closed"} <= done
    assert "secret" not in str(list(AuditEntry.objects.values()))


def test_a_leave_to_read_ends_by_itself_and_with_the_permission(
    alice: User, bob: User, charlie: User
) -> None:
    made = content.open_content(alice, charlie, "Charlie asked for help", 1)
    assert content.open_access(alice, charlie) == made
    assert content.open_access(bob, charlie) is None
    assert content.open_access(alice, bob) is None
    User.objects.filter(pk=alice.pk).update(is_staff=False)
    assert content.open_access(User.objects.get(pk=alice.pk), charlie) is None
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    type(made).objects.update(opened_at=timezone.now(), ends_at=timezone.now())
    assert content.open_access(User.objects.get(pk=alice.pk), charlie) is None


def test_no_table_with_content_is_in_the_admin(alice: User) -> None:
    """Titles, texts and snapshots are in no list and in no form; a new table is decided about."""
    from django.contrib.admin import site

    shown = {
        (model._meta.label, name)
        for model, one in site._registry.items()
        if model._meta.app_label in {"chat", "memory"}
        for name in (*one.list_display, *(one.fields or [f.name for f in model._meta.fields]))
    }
    assert {label for label, _ in shown} == {
        "chat.User",
        "chat.Conversation",
        "chat.Run",
        "chat.AuditEntry",
        "chat.Invitation",
        "chat.ContentAccess",
        "chat.Quota",
        "chat.Usage",
    }
    assert not {name for _, name in shown} & {"reason_text", "token_hash", "receipt", "followups"}
    assert ("chat.Run", "reason") not in shown
    assert not [name for _, name in shown if name in {"text", "model_text", "snapshot", "title"}]


def test_deleting_an_account_in_the_admin_names_nothing_and_takes_all(
    alice: User, charlie: User, browser_of: Callable[[User], Client]
) -> None:
    answered(charlie, "A secret answer [1].", "A secret question?")
    client = browser_of(alice)
    path = f"/admin/chat/user/{charlie.pk}/delete/"
    page = client.get(path).content.decode()
    assert "secret" not in page
    assert "1 conversation" in page
    assert client.post(path, {"post": "yes"}).status_code == 302
    assert not Conversation.objects.exists()
    entry = AuditEntry.objects.get(action="deleted")
    assert (entry.by_id, entry.target) == (alice.pk, f"account {charlie.pk}")


def test_an_operator_cannot_make_themselves_an_owner_in_the_admin(
    bob: User, browser_of: Callable[[User], Client]
) -> None:
    from django.contrib.auth.models import Permission

    bob.user_permissions.set(Permission.objects.all())
    client = browser_of(bob)
    assert client.get(f"/admin/chat/user/{bob.pk}/change/").status_code == 403
    form = {"username": "bob", "is_superuser": "on"}
    assert client.post(f"/admin/chat/user/{bob.pk}/change/", form).status_code == 403
