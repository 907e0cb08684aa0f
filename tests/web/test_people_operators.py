"""What operators do: looking after people, within what their role allows, and in the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from django.test import Client

from chat.accounts import people
from chat.accounts.models import AuditEntry, Invitation, Quota, Session
from chat.database import in_database
from chat.models import Conversation, User
from tests.servers.model_script import say
from tests.web.conftest import begun, until

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(db: Any) -> User:
    """An operator who is no owner."""
    return User.objects.create_user("bob", is_staff=True)


@pytest.fixture
def as_owner(alice: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(alice)


@pytest.fixture
def as_operator(bob: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(bob)


@pytest.fixture(autouse=True)
def _no_look_up(monkeypatch: Any) -> None:
    """Mail names this machine, whose name would be looked up."""
    monkeypatch.setattr("django.core.mail.utils.DNS_NAME._fqdn", "localhost", raising=False)


def do(client: Client, person: User, what: str) -> int:
    return client.post(f"/people/{person.pk}/change/", {"do": what}).status_code


def done() -> list[tuple[str, str, str]]:
    rows = AuditEntry.objects.exclude(action="signed_in").order_by("id")
    return list(rows.values_list("action", "by_name", "about_name"))


def test_a_disabled_account_is_out_at_once_and_its_answers_stop(
    charlie: User, as_operator: Client, browser_of: Callable[[User], Client]
) -> None:
    theirs = browser_of(charlie)
    run = begun(charlie)
    assert do(as_operator, charlie, "disable") == 302
    assert theirs.get("/").status_code == 302
    run.refresh_from_db()
    assert run.stop_requested
    assert not Session.objects.filter(user=charlie).exists()
    assert b"disabled" in as_operator.get("/people/").content
    assert do(as_operator, charlie, "enable") == 302
    assert User.objects.get(pk=charlie.pk).is_active
    assert done() == [("disabled", "bob", "charlie"), ("enabled", "bob", "charlie")]


@pytest.mark.django_db(transaction=True)
async def test_an_answer_that_is_being_written_ends_when_its_person_is_disabled(
    alice: User, charlie: User, page_of: Any, model: Any
) -> None:
    model([say("one " * 400, pieces=400, every=0.02)])
    page = await page_of(charlie)
    await page.send({"type": "ask", "text": "Why?", "client_id": "c-1"})
    await page.until("text_added")
    await in_database(people.disable)(alice, charlie)
    run = await in_database(charlie.runs.get)()

    async def ended() -> bool:
        await run.arefresh_from_db()
        return run.status == "stopped"

    await until(ended)


@pytest.mark.parametrize("what", ["disable", "sign-out", "make-operator", "make-person"])
def test_nobody_changes_their_own_account_or_one_above_them(
    what: str, alice: User, bob: User, as_owner: Client, as_operator: Client
) -> None:
    assert do(as_owner, alice, what) == 403
    assert do(as_operator, bob, what) == 403
    assert do(as_operator, alice, what) == 403
    assert as_operator.post(f"/people/{alice.pk}/reset/").status_code == 403
    assert User.objects.filter(is_active=True, is_staff=True).count() == 2


def test_only_the_owner_makes_operators(
    charlie: User, bob: User, as_owner: Client, as_operator: Client
) -> None:
    assert do(as_operator, charlie, "make-operator") == 403
    assert do(as_owner, charlie, "make-operator") == 302
    assert User.objects.get(pk=charlie.pk).is_staff
    assert do(as_operator, charlie, "make-person") == 403
    assert do(as_owner, charlie, "make-person") == 302
    assert not User.objects.get(pk=charlie.pk).is_staff


def test_what_is_no_action_changes_nothing(charlie: User, as_owner: Client) -> None:
    assert do(as_owner, charlie, "delete-everything") == 400


def test_an_invitation_is_shown_once_and_mailed_where_there_is_a_server(
    as_operator: Client, settings: Any
) -> None:
    page = as_operator.post("/people/invite/", {"email": "dora@example.org"}).content.decode()
    link = page.split('id="new-link" value="')[1].split('"')[0]
    assert Client().get(link.removeprefix("http://testserver")).status_code == 200
    assert mail.outbox == []
    assert link not in as_operator.get("/people/").content.decode()
    settings.LUMINA_SMTP_HOST = "mail.example"
    page = as_operator.post("/people/invite/", {"email": "dora@example.org"}).content.decode()
    assert "It was mailed to dora@example.org" in page
    assert mail.outbox[0].to == ["dora@example.org"]


def test_a_mail_server_that_is_away_costs_the_mail_and_not_the_invitation(
    as_operator: Client, settings: Any
) -> None:
    settings.LUMINA_SMTP_HOST = "127.0.0.1"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    page = as_operator.post("/people/invite/", {"email": "dora@example.org"}).content.decode()
    assert "could not be sent" in page
    assert 'id="new-link"' in page
    assert Invitation.objects.count() == 1


def test_an_operator_invites_no_operator(as_operator: Client, as_owner: Client) -> None:
    assert as_operator.post("/people/invite/", {"for_operator": "on"}).status_code == 403
    assert as_owner.post("/people/invite/", {"for_operator": "on"}).status_code == 200
    assert Invitation.objects.get().for_operator


def test_an_operator_makes_a_reset_link_and_the_person_sees_that(
    charlie: User, as_operator: Client, browser_of: Callable[[User], Client]
) -> None:
    page = as_operator.post(f"/people/{charlie.pk}/reset/").content.decode()
    link = page.split('id="new-link" value="')[1].split('"')[0].removeprefix("http://testserver")
    assert Client().get(link).status_code == 200
    told = browser_of(charlie).get("/account/").content.decode()
    assert "made a link for a new password" in told
    assert "bob" in told


def test_a_quota_is_set_for_one_person(
    charlie: User, bob: User, as_operator: Client, browser_of: Callable[[User], Client]
) -> None:
    path = f"/people/{charlie.pk}/quota/"
    assert as_operator.post(path, {"tokens_a_day": "many"}).status_code == 400
    assert as_operator.post(path, {"tokens_a_day": "-1"}).status_code == 400
    assert as_operator.post(path, {"tokens_a_day": "5000", "library_bytes": "0"}).status_code == 302
    made = Quota.objects.get()
    assert (made.owner, made.tokens_a_day, made.tokens_a_month) == (charlie, 5000, None)
    assert made.library_bytes == 0
    assert b"0 of 5,000" in browser_of(charlie).get("/account/").content
    assert as_operator.post(f"/people/{bob.pk}/quota/", {"tokens_a_day": "0"}).status_code == 403


def test_people_and_the_log_are_listed(charlie: User, as_owner: Client) -> None:
    page = as_owner.get("/people/").content.decode()
    assert "charlie" in page
    assert as_owner.get("/people/log/?page=nonsense").status_code == 200


def test_what_is_deleted_and_exported_is_logged_by_its_id(
    charlie: User, browser_of: Callable[[User], Client], tmp_path: Path
) -> None:
    run = begun(charlie, "A secret question?")
    browser_of(charlie).post(f"/c/{run.conversation_id}/delete/")
    call_command("memory", "export", str(tmp_path / "out"), owner="charlie")
    entries = AuditEntry.objects.exclude(action="signed_in").order_by("id")
    told = list(entries.values_list("action", "by_name", "about_name", "target"))
    assert told == [
        ("deleted", "charlie", "", f"conversation {run.conversation_id}"),
        ("exported", "", "charlie", "memory files"),
    ]
    assert "secret" not in str(list(AuditEntry.objects.values()))


def test_deleting_a_person_is_one_entry(charlie: User) -> None:
    for _ in range(3):
        begun(charlie)
    pk = charlie.pk
    charlie.delete()
    assert not Conversation.objects.exists()
    assert AuditEntry.objects.get().target == f"account {pk}"
