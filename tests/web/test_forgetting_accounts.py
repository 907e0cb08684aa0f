"""A person deletes their own account: only with a yes, and with everything that was theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chat.accounts.models import AuditEntry, Session
from chat.forgetting import forget_conversation
from chat.importing import import_conversation
from chat.models import Conversation, LibraryFolder, Message, Run, User
from memory import store as memory_store
from memory.models import MemoryFile
from memory.tasks import index_backlog
from tests.web.conftest import begun
from tests.web.test_pages import answered

pytestmark = pytest.mark.django_db

PASSWORD = "a very long password"


@pytest.fixture
def page(charlie: User, browser_of: Callable[[User], Client]) -> Client:
    charlie.set_password(PASSWORD)
    charlie.save()
    return browser_of(charlie)


def delete(page: Client, **posted: str) -> int:
    return page.post("/account/delete/", {"sure": "on", "password": PASSWORD} | posted).status_code


def test_the_account_goes_with_everything_and_the_session(
    alice: User, charlie: User, page: Client
) -> None:
    answered(charlie)
    begun(charlie, "Still running?")
    memory_store.put(charlie.pk, "AGENTS.md", "- Short answers", memory_store.By())
    LibraryFolder.objects.create(owner=charlie, path="/charlie")
    kept = answered(alice, question="Alice's?")
    assert delete(page) == 302
    assert [one.username for one in User.objects.all()] == ["alice"]
    assert set(Message.objects.values_list("conversation_id", flat=True)) == {kept.conversation_id}
    assert list(Run.objects.all()) == [kept]
    assert not MemoryFile.objects.exists()
    assert not LibraryFolder.objects.filter(owner__isnull=False).exists()
    assert not Session.objects.filter(user=charlie.pk).exists()
    assert page.get("/account/").status_code == 302


def test_the_log_has_one_entry_for_it(alice: User, charlie: User, page: Client) -> None:
    answered(charlie)
    answered(charlie, question="Another?")
    memory_store.put(charlie.pk, "AGENTS.md", "- Short answers", memory_store.By())
    pk = charlie.pk
    delete(page)
    deleted = AuditEntry.objects.filter(action="deleted")
    assert [one.target for one in deleted] == [f"account {pk}"]


@pytest.mark.parametrize("posted", [{"sure": ""}, {"password": "wrong"}, {"password": ""}])
def test_without_a_yes_or_the_password_nothing_goes(
    charlie: User, page: Client, posted: dict[str, str]
) -> None:
    answered(charlie)
    response = page.post("/account/delete/", {"sure": "on", "password": PASSWORD} | posted)
    assert response.status_code == 400
    told = response.content.decode()
    assert 'role="alert"' in told
    assert "sure:" not in told
    assert Conversation.objects.of(charlie).count() == 1


def test_the_only_owner_stays(
    alice: User, charlie: User, browser_of: Callable[[User], Client]
) -> None:
    client = browser_of(alice)
    assert b"Delete my account" not in client.get("/account/").content
    assert client.post("/account/delete/", {"sure": "on"}).status_code == 409
    User.objects.filter(pk=charlie.pk).update(is_superuser=True, is_staff=True)
    assert b"Delete my account" in client.get("/account/").content
    assert client.post("/account/delete/", {"sure": "on"}).status_code == 302
    assert [one.username for one in User.objects.all()] == ["charlie"]


def test_a_longer_conversation_goes_with_hardly_more_queries(charlie: User) -> None:
    """Other writers wait as long as it takes."""

    def n_queries(n_messages: int) -> int:
        told = [{"role": "user", "content": f"Message {at}"} for at in range(n_messages)]
        conversation = import_conversation(charlie, told)
        index_backlog()
        with CaptureQueriesContext(connection) as queries:
            forget_conversation(charlie, conversation.pk)
        return len(queries)

    n_queries(2)
    assert n_queries(40) <= n_queries(2) + 5
    assert not Message.objects.exists()
