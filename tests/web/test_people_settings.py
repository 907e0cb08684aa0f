"""What an owner stores: encrypted in the database, used, and never shown again."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from chat.accounts import stored
from chat.accounts.models import AuditEntry, StoredSetting
from chat.accounts.vault import Unreadable, Vault
from chat.database import in_database
from chat.models import User
from chat.services import services
from chat.wiring import secrets_in_use
from tests.servers.model_script import say
from tests.servers.model_server import ModelServer

pytestmark = pytest.mark.django_db

KEY = "sk-a-very-secret-key-0123456789abcd"
PATH = "/people/settings/"


@pytest.fixture(autouse=True)
def _nothing_held(monkeypatch: Any) -> Iterator[None]:
    monkeypatch.setattr(stored, "_held", {})
    return


@pytest.fixture
def owner(alice: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(alice)


def everything_stored() -> str:
    """All rows of all tables, as somebody would find them who has the file."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            found.append(str(cursor.fetchall()))
    return "".join(found)


def test_a_key_is_stored_encrypted_and_only_its_end_is_shown(owner: Client) -> None:
    assert owner.post(PATH, {"LUMINA_TAVILY_KEY": KEY}).status_code == 302
    page = owner.get(PATH).content.decode()
    assert "ends in …abcd" in page
    assert KEY[:-4] not in page
    assert KEY[:-4] not in everything_stored()
    assert stored.Configured().LUMINA_TAVILY_KEY == KEY
    assert KEY in secrets_in_use()
    assert AuditEntry.objects.get(action="setting_changed").target == "LUMINA_TAVILY_KEY set"


def test_nothing_is_told_of_a_short_key(owner: Client) -> None:
    owner.post(PATH, {"LUMINA_TAVILY_KEY": "short9Zq"})
    page = owner.get(PATH).content.decode()
    assert "ends in" not in page
    assert "9Zq" not in page


def test_an_empty_key_keeps_what_is_there_and_a_tick_forgets_it(owner: Client) -> None:
    owner.post(PATH, {"LUMINA_TAVILY_KEY": KEY})
    owner.post(PATH, {"LUMINA_TAVILY_KEY": ""})
    assert stored.Configured().LUMINA_TAVILY_KEY == KEY
    owner.post(PATH, {"LUMINA_TAVILY_KEY": "", "forget-LUMINA_TAVILY_KEY": "on"})
    assert stored.Configured().LUMINA_TAVILY_KEY == ""
    assert not StoredSetting.objects.exists()


def test_the_environment_wins_and_cannot_be_changed_here(owner: Client, settings: Any) -> None:
    settings.LUMINA_TAVILY_KEY = "from-the-environment"
    owner.post(PATH, {"LUMINA_TAVILY_KEY": KEY})
    assert stored.Configured().LUMINA_TAVILY_KEY == "from-the-environment"
    assert not StoredSetting.objects.exists()
    page = owner.get(PATH).content.decode()
    assert "set in the environment" in page
    assert "from-the-environment" not in page


@pytest.mark.parametrize(
    "form",
    [
        {"LUMINA_MODEL_URL": "http://127.0.0.1:1/v1"},
        {"LUMINA_MODEL": "m"},
        {"LUMINA_SEARXNG_URL": "javascript:alert(1)"},
        {"LUMINA_SEARXNG_URL": "file:///etc/passwd"},
    ],
)
def test_what_does_not_fit_is_refused(owner: Client, form: dict[str, str]) -> None:
    assert owner.post(PATH, form).status_code == 400
    assert not StoredSetting.objects.exists()


def test_other_names_are_not_settings(owner: Client) -> None:
    owner.post(PATH, {"SECRET_KEY": "x", "DEBUG": "1", "LUMINA_SIGNUP": "on"})
    assert not StoredSetting.objects.exists()


def test_an_operator_has_no_such_page(charlie: User, browser_of: Callable[[User], Client]) -> None:
    User.objects.filter(pk=charlie.pk).update(is_staff=True)
    client = browser_of(charlie)
    assert client.get(PATH).status_code == 404
    assert client.post(PATH, {"LUMINA_MODEL_URL": "http://x/v1"}).status_code == 404
    assert b"/people/settings/" not in client.get("/people/").content


@pytest.mark.django_db(transaction=True)
async def test_the_next_question_goes_to_the_model_that_was_stored(
    alice: User, page_of: Any
) -> None:
    page = await page_of(alice)
    await page.ask("Why does ice float?")
    with ModelServer([say("A stored answer.")], key=KEY) as server:
        changes = {
            "LUMINA_MODEL_URL": server.url,
            "LUMINA_MODEL": "scripted",
            "LUMINA_MODEL_KEY": KEY,
        }
        await in_database(stored.store)(alice, changes)
        heard = await page.ask("Why does ice float?", client_id="c-2")
        assert "A stored answer." in str(heard)
        await in_database(stored.store)(alice, dict.fromkeys(changes, ""))
        await page.ask("Why does ice float?", client_id="c-3")
        assert len(server.requests) == 1
        await services().close()


# --- Keys that change ---------------------------------------------------------------------------


def test_a_new_key_takes_over_and_the_old_one_can_go(alice: User, settings: Any) -> None:
    stored.store(alice, {"LUMINA_TAVILY_KEY": KEY})
    settings.LUMINA_ENCRYPTION_KEY = ["n" * 32]
    call_command("rotate_keys", stdout=io.StringIO())
    settings.SECRET_KEY = "another one, as after a restore elsewhere"
    stored.refresh()
    assert stored.Configured().LUMINA_TAVILY_KEY == KEY


def test_what_no_key_opens_is_said_and_can_be_entered_again(
    alice: User, owner: Client, settings: Any
) -> None:
    stored.store(alice, {"LUMINA_TAVILY_KEY": KEY})
    client = Client()
    settings.SECRET_KEY = "another one, as after a restore elsewhere"
    client.force_login(alice)
    assert "Enter it again" in client.get(PATH).content.decode()
    assert stored.Configured().LUMINA_TAVILY_KEY == ""
    with pytest.raises(CommandError, match="LUMINA_TAVILY_KEY"):
        call_command("rotate_keys", stdout=io.StringIO())
    client.post(PATH, {"LUMINA_TAVILY_KEY": KEY})
    assert stored.Configured().LUMINA_TAVILY_KEY == KEY


def test_a_short_encryption_key_stops_the_start(settings: Any) -> None:
    from chat.checks import encryption_keys

    assert encryption_keys(None) == []
    settings.LUMINA_ENCRYPTION_KEY = ["n" * 32, "short"]
    assert [one.id for one in encryption_keys(None)] == ["lumina.E004"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_is_closed_opens_under_its_key_alone(text: str) -> None:
    closed = Vault(["a key"]).close(text)
    assert Vault(["another", "a key"]).open(closed) == text
    assert closed != Vault(["a key"]).close(text)
    with pytest.raises(Unreadable):
        Vault(["another"]).open(closed)
    with pytest.raises(Unreadable):
        Vault(["a key"]).open(closed[:-2])
