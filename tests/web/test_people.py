"""Accounts: coming in, by invitation and by password; going out, from here and from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from chat.accounts import invitations, links, passwords, sessions, tidying
from chat.accounts.mail import send_reset
from chat.accounts.models import AuditEntry, Invitation, Session
from chat.database import in_database
from chat.logs import LineFormatter
from chat.models import SignInLink, User

pytestmark = pytest.mark.django_db

GOOD = "four quiet words here"
BETTER = "another good sentence"


@pytest.fixture
def bob(db: Any) -> User:
    return User.objects.create_user("bob", "bob@example.org", GOOD)


def join_form(username: str = "dora", password: str = GOOD, again: str = "") -> dict[str, str]:
    return {"username": username, "password": password, "again": again or password}


def signed_in_name(client: Client) -> str:
    page = client.get("/account/")
    found = re.search(r'<p class="faint">(\w+)', page.content.decode())
    return found.group(1) if page.status_code == 200 and found else ""


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("id").values_list("action", flat=True))


# --- Invitations --------------------------------------------------------------------------------


def test_an_invitation_makes_one_account_and_then_no_more(alice: User) -> None:
    path = f"/invited/{invitations.invite(alice)}/"
    client = Client()
    for _ in range(2):
        assert client.get(path).status_code == 200
    assert client.post(path, join_form()).status_code == 302
    assert signed_in_name(client) == "dora"
    dora = User.objects.get(username="dora")
    assert not dora.is_staff
    assert not dora.is_superuser
    assert Client().get(path).status_code == 410
    assert Client().post(path, join_form("eve")).status_code == 410
    assert not User.objects.filter(username="eve").exists()


def test_an_invitation_is_kept_as_a_hash_alone(alice: User) -> None:
    token = invitations.invite(alice)
    assert token not in str(list(Invitation.objects.values()))
    assert token not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize("end", ["late", "withdrawn", "disabled", "no operator any more"])
def test_an_invitation_ends(alice: User, end: str) -> None:
    token = invitations.invite(alice)
    if end == "late":
        Invitation.objects.update(
            expires_at=timezone.now(), created_at=timezone.now() - timedelta(days=8)
        )
    elif end == "withdrawn":
        invitations.withdraw(alice, Invitation.objects.get().pk)
    elif end == "disabled":
        User.objects.update(is_active=False)
    else:
        User.objects.update(is_staff=False)
    assert Client().get(f"/invited/{token}/").status_code == 410
    assert Client().post(f"/invited/{token}/", join_form()).status_code == 410


def test_only_an_owners_invitation_makes_an_operator(alice: User, bob: User) -> None:
    by_owner = invitations.invite(alice, for_operator=True)
    assert invitations.join(by_owner, "dora", GOOD).is_staff
    bob.is_staff = True
    bob.save()
    by_operator = invitations.invite(bob, for_operator=True)
    assert not invitations.join(by_operator, "eve", GOOD).is_staff


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (join_form("BOB"), "Somebody has this name"),
        (join_form("d o"), "valid username"),
        (join_form(password="tiny"), "at least 10 characters"),
        (join_form(password="password123"), "Many people use this one"),
        (join_form(password="8264619375028"), "Numbers alone"),
        (join_form("dorothea1", "dorothea12"), "too close to your name"),
        (join_form(again="something else"), "not the same"),
    ],
)
def test_what_does_not_do_is_said_kindly_and_uses_nothing_up(
    alice: User, bob: User, form: dict[str, str], words: str
) -> None:
    path = f"/invited/{invitations.invite(alice)}/"
    response = Client().post(path, form)
    assert response.status_code == 400
    assert words in response.content.decode()
    assert form["password"] not in response.content.decode()
    assert Client().get(path).status_code == 200


def test_there_is_no_sign_up_unless_it_is_switched_on(settings: Any) -> None:
    assert Client().get("/sign-up/").status_code == 404
    assert Client().post("/sign-up/", join_form()).status_code == 404
    assert b"/sign-up/" not in Client().get("/sign-in/").content
    settings.LUMINA_SIGNUP = True
    assert b"/sign-up/" in Client().get("/sign-in/").content
    client = Client()
    assert client.post("/sign-up/", join_form()).status_code == 302
    assert signed_in_name(client) == "dora"


# --- A forgotten password -----------------------------------------------------------------------


def test_a_reset_link_sets_a_password_once_and_signs_out_everywhere_else(
    bob: User, browser_of: Callable[[User], Client]
) -> None:
    elsewhere = browser_of(bob)
    path = f"/reset/{passwords.reset_link(bob)}/"
    client = Client()
    assert client.get(path).status_code == 200
    form = {"password": BETTER, "again": BETTER}
    assert client.post(path, form).status_code == 302
    assert signed_in_name(client) == "bob"
    assert signed_in_name(elsewhere) == ""
    assert Client().post(path, form).status_code == 410
    old, new = ({"username": "bob", "password": one} for one in (GOOD, BETTER))
    assert Client().post("/sign-in/", old).status_code == 200
    assert Client().post("/sign-in/", new).status_code == 302


def test_a_newer_reset_link_ends_the_older_one(bob: User) -> None:
    older, newer = passwords.reset_link(bob), passwords.reset_link(bob)
    assert Client().get(f"/reset/{older}/").status_code == 410
    assert Client().get(f"/reset/{newer}/").status_code == 200


def test_a_reset_link_signs_nobody_in_and_a_sign_in_link_sets_no_password(bob: User) -> None:
    assert Client().post(f"/sign-in/{passwords.reset_link(bob)}/").status_code == 410
    token = links.new_link(bob)
    assert Client().get(f"/reset/{token}/").status_code == 410
    assert (
        Client().post(f"/reset/{token}/", {"password": BETTER, "again": BETTER}).status_code == 410
    )


def test_whoever_is_disabled_cannot_come_back_by_a_link(bob: User) -> None:
    reset, sign_in = passwords.reset_link(bob), links.new_link(bob)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert Client().get(f"/reset/{reset}/").status_code == 410
    assert Client().post(f"/sign-in/{sign_in}/").status_code == 410


def test_asking_for_a_mail_tells_nobody_whether_there_is_such_an_account(
    bob: User, settings: Any, monkeypatch: Any
) -> None:
    settings.LUMINA_SMTP_HOST = "mail.example"
    queued: list[tuple[str, ...]] = []
    monkeypatch.setattr("chat.tasks.mail_reset.delay", lambda *given: queued.append(given))
    told = set()
    for who in ("bob", "bob@example.org", "nobody", "nobody@example.org", ""):
        response = Client().post("/reset/", {"who": who})
        token = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
        told.add((response.status_code, token.sub("", response.content.decode())))
    assert len(told) == 1
    assert [given[0] for given in queued][:2] == ["bob", "bob@example.org"]
    assert mail.outbox == []


@pytest.mark.parametrize(("typed", "n"), [("bob", 1), ("BOB@example.org", 1), ("eve", 0), ("", 0)])
def test_the_mail_goes_to_the_accounts_own_address(
    bob: User, settings: Any, monkeypatch: Any, typed: str, n: int
) -> None:
    monkeypatch.setattr("django.core.mail.message.DNS_NAME", "localhost")  # else it is looked up
    settings.LUMINA_SMTP_HOST = "mail.example"
    send_reset(typed, "https://lumina.example")
    assert len(mail.outbox) == n
    if n:
        assert mail.outbox[0].to == ["bob@example.org"]
        link = re.search(r"https://lumina\.example(/reset/\S+)", mail.outbox[0].body).group(1)
        assert Client().get(link).status_code == 200


def test_without_a_mail_server_the_page_says_whom_to_ask() -> None:
    page = Client().get("/reset/").content.decode()
    assert "Ask whoever runs this Lumina" in page
    assert "<form" not in page


def test_no_log_line_holds_the_token_of_a_link(alice: User, caplog: Any) -> None:
    token = invitations.invite(alice)
    Client().post(f"/invited/{token}/", join_form(password="tiny"))
    Client(enforce_csrf_checks=True).post(f"/reset/{token}/", {})
    logged = "\n".join(map(LineFormatter().format, caplog.records))
    assert "/invited/…/" in logged
    assert "/reset/…/" in logged
    assert token not in logged


# --- The account page ---------------------------------------------------------------------------


def test_a_password_is_changed_with_the_old_one_and_this_browser_stays(
    bob: User, browser_of: Callable[[User], Client]
) -> None:
    here, there = browser_of(bob), browser_of(bob)
    form = {"old": GOOD, "password": BETTER, "again": BETTER}
    assert here.post("/account/password/", form | {"old": "wrong"}).status_code == 400
    assert signed_in_name(there) == "bob"
    assert here.post("/account/password/", form).status_code == 302
    assert signed_in_name(here) == "bob"
    assert signed_in_name(there) == ""
    assert User.objects.get(pk=bob.pk).check_password(BETTER)


def test_the_old_password_cannot_be_guessed_from_a_stolen_session(
    bob: User, browser_of: Callable[[User], Client], settings: Any
) -> None:
    settings.LUMINA_DOOR_TRIES = 3
    client = browser_of(bob)
    form = {"old": "wrong", "password": BETTER, "again": BETTER}
    replies = [client.post("/account/password/", form).status_code for _ in range(4)]
    assert replies == [400, 400, 400, 429]


@pytest.mark.parametrize("nothing", ["", "!unusable"])
def test_an_owner_without_a_password_sets_the_first_one(
    alice: User, browser_of: Callable[[User], Client], nothing: str
) -> None:
    User.objects.filter(pk=alice.pk).update(password=nothing)
    alice.refresh_from_db()
    client = browser_of(alice)
    assert b"Set a password" in client.get("/account/").content
    form = {"password": GOOD, "again": GOOD}
    assert client.post("/account/password/", form).status_code == 302
    assert User.objects.get(pk=alice.pk).check_password(GOOD)


def test_sessions_are_listed_with_browser_and_address(
    bob: User, browser_of: Callable[[User], Client]
) -> None:
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    there = browser_of(bob)
    there.get("/", headers={"user-agent": firefox}, REMOTE_ADDR="192.0.2.7")
    page = browser_of(bob).get("/account/").content.decode()
    assert "Firefox on Linux" in page
    assert "192.0.2.7" in page
    assert page.count("this browser") == 1
    for session in Session.objects.all():
        assert session.session_key not in page


def test_a_session_is_ended_from_another_browser(
    bob: User, browser_of: Callable[[User], Client]
) -> None:
    here, there = browser_of(bob), browser_of(bob)
    ended = Session.objects.get(pk=there.session.session_key)
    assert here.post(f"/account/sessions/{ended.handle}/end/").status_code == 302
    assert signed_in_name(there) == ""
    assert signed_in_name(here) == "bob"


def test_all_others_are_ended_at_once_and_nobody_elses(
    alice: User, bob: User, browser_of: Callable[[User], Client]
) -> None:
    here, others, strangers = (
        browser_of(bob),
        [browser_of(bob) for _ in range(3)],
        browser_of(alice),
    )
    here.post("/account/sessions/end/")
    assert [signed_in_name(one) for one in others] == ["", "", ""]
    assert signed_in_name(here) == "bob"
    assert signed_in_name(strangers) == "alice"


def test_the_session_of_somebody_else_is_not_found(
    alice: User, bob: User, browser_of: Callable[[User], Client]
) -> None:
    hers = browser_of(alice)
    handle = Session.objects.get(user=alice).handle
    assert browser_of(bob).post(f"/account/sessions/{handle}/end/").status_code == 404
    assert signed_in_name(hers) == "alice"


def test_being_seen_is_written_down_once_a_minute(
    bob: User, browser_of: Callable[[User], Client]
) -> None:
    client = browser_of(bob)
    client.get("/account/")
    first = Session.objects.get().seen_at
    client.get("/account/")
    assert Session.objects.get().seen_at == first
    Session.objects.update(seen_at=timezone.now() - timedelta(minutes=2))
    client.get("/account/")
    assert Session.objects.get().seen_at > first


def test_a_time_zone_is_one_of_the_worlds(bob: User, browser_of: Callable[[User], Client]) -> None:
    client = browser_of(bob)
    assert client.post("/account/time-zone/", {"time_zone": "Mars/Olympus"}).status_code == 400
    assert client.post("/account/time-zone/", {"time_zone": "Europe/Madrid"}).status_code == 302
    assert User.objects.get(pk=bob.pk).time_zone == "Europe/Madrid"


# --- Sockets ------------------------------------------------------------------------------------


async def test_a_socket_closes_when_its_session_is_ended(bob: User, page_of: Any) -> None:
    page, other = await page_of(bob), await page_of(bob)
    keys = await in_database(lambda: [one.pk for one in Session.objects.filter(user=bob)])()
    assert len(keys) == 2
    await in_database(sessions.end)(bob.pk, keep=keys[0])
    open_ones = [one for one in (page, other) if await is_open(one)]
    assert len(open_ones) == 1


async def is_open(page: Any) -> bool:
    """Whether the socket still answers; one that was closed says 4401."""
    await page.send({"type": "nonsense"})
    output = await page._socket.receive_output(timeout=5)
    if output["type"] == "websocket.close":
        assert output["code"] == 4401
        return False
    return True


async def test_a_socket_that_no_nudge_reached_closes_at_its_next_look(
    bob: User, page_of: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("chat.consumers.LOOK_AT_SESSION_SECONDS", 0.05)
    page = await page_of(bob)
    await in_database(Session.objects.all().delete)()
    assert await page.closing_code() == 4401


async def test_an_ended_session_can_ask_nothing_more(bob: User, page_of: Any) -> None:
    page = await page_of(bob)
    await in_database(Session.objects.all().delete)()
    await page.send({"type": "ask", "text": "Why?", "client_id": "c-1"})
    assert await page.closing_code() == 4401
    assert await bob.runs.acount() == 0


# --- The log ------------------------------------------------------------------------------------


def test_coming_and_going_is_logged_with_the_address(bob: User) -> None:
    client = Client(REMOTE_ADDR="192.0.2.7")
    client.post("/sign-in/", {"username": "bob", "password": "wrong"})
    client.post("/sign-in/", {"username": "bob", "password": GOOD})
    client.post("/sign-out/")
    assert actions() == ["sign_in_failed", "signed_in", "signed_out"]
    failed = AuditEntry.objects.earliest("id")
    assert (failed.by_id, failed.about_id, failed.address) == (None, bob.pk, "192.0.2.7")


def test_what_was_typed_as_a_name_is_not_kept_unless_it_is_one(bob: User) -> None:
    Client().post("/sign-in/", {"username": "my secret password", "password": "x"})
    assert "secret" not in str(list(AuditEntry.objects.values()))


def test_old_entries_sessions_and_links_go_by_themselves(bob: User, settings: Any) -> None:
    settings.LUMINA_AUDIT_DAYS = 30
    long_ago = timezone.now() - timedelta(days=31)
    AuditEntry.objects.create(at=long_ago, action="signed_in")
    AuditEntry.objects.create(at=timezone.now(), action="signed_out")
    client = Client()
    client.force_login(bob)
    Session.objects.update(expire_date=long_ago)
    links.new_link(bob)
    SignInLink.objects.update(expires_at=long_ago)
    AuditEntry.objects.filter(action="signed_in", at__gt=long_ago).delete()
    tidying.tidy()
    assert actions() == ["signed_out"]
    assert not Session.objects.exists()
    assert not SignInLink.objects.exists()
    settings.LUMINA_AUDIT_DAYS = 0
    AuditEntry.objects.update(at=long_ago)
    tidying.tidy()
    assert actions() == ["signed_out"]


def test_a_person_sees_their_own_entries_and_nobody_elses(
    alice: User, bob: User, browser_of: Callable[[User], Client]
) -> None:
    Client(REMOTE_ADDR="192.0.2.7").force_login(alice)
    AuditEntry.objects.filter(by_id=alice.pk).update(address="192.0.2.7")
    page = browser_of(bob).get("/account/").content.decode()
    assert "signed in" in page
    assert "192.0.2.7" not in page
