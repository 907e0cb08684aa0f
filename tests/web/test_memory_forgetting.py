"""Forgetting is complete: no table and no byte of the database keeps what went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from chat.models import Conversation, Message, User
from memory import store
from memory.models import Proposal, Revision
from memory.service import Said, write
from memory.store import By
from tests.web.conftest import begun

USER_FILE = "knowledge/user.md"
SECRET = "Xanthippe7531"


def tell(owner: User, message: str, note: str, **more: Any) -> Message:
    """A message, and the note that the agent made of it."""
    question = begun(owner, message).question
    write(owner.pk, USER_FILE, note, said=Said(question.pk, message), **more)
    return question


def everywhere() -> str:
    """Every text of every table."""
    return "\n".join(
        repr(row) for table in apps.get_models() for row in table._default_manager.values()
    )


@pytest.mark.django_db
def test_a_deleted_message_takes_its_words_out_of_every_later_revision(alice: User) -> None:
    tell(alice, "I like tea", "- Likes tea")
    message = tell(alice, f"My sister is {SECRET}", f"- Sister: {SECRET}")
    tell(alice, "I live in Lisbon", "- Lives in Lisbon")
    store.put(alice.pk, USER_FILE, store.text_of(alice.pk, USER_FILE) + "- By hand\n", By())
    write(alice.pk, "AGENTS.md", f"- Ask {SECRET} first", said=Said(message.pk, "Who is it?"))
    assert Proposal.objects.count() == 1
    message.conversation.delete()
    assert SECRET not in everywhere()
    assert [row.number for row in Revision.objects.all()] == [1, 2, 3]
    assert store.text_of(alice.pk, USER_FILE) == "- Likes tea\n- Lives in Lisbon\n- By hand\n"


@pytest.mark.django_db
def test_an_undo_does_not_hide_a_text_from_forgetting(alice: User) -> None:
    message = tell(alice, f"My sister is {SECRET}", f"- Sister: {SECRET}")
    tell(alice, "no, Berta", "- Sister: Berta")
    store.undo(alice.pk, USER_FILE)
    tell(alice, "I like tea", "- Likes tea")
    message.conversation.delete()
    assert SECRET not in everywhere()
    assert store.text_of(alice.pk, USER_FILE) == "- Likes tea\n"


@pytest.mark.django_db
def test_a_deleted_file_and_everything_leave_nothing(alice: User, charlie: User) -> None:
    store.put(alice.pk, USER_FILE, f"- {SECRET}", By())
    write(alice.pk, USER_FILE, f"- {SECRET}s sister", said=None)
    store.put(charlie.pk, USER_FILE, "- Charlie's", By())
    store.remove_file(alice.pk, USER_FILE)
    assert SECRET not in everywhere()
    store.put(alice.pk, "AGENTS.md", f"- {SECRET}", By())
    write(alice.pk, USER_FILE, f"- {SECRET}s sister", said=None)
    store.remove_all(alice.pk)
    assert SECRET not in everywhere()
    assert store.text_of(charlie.pk, USER_FILE) == "- Charlie's\n"


@pytest.mark.django_db
def test_an_account_takes_its_memory_with_it(alice: User, charlie: User) -> None:
    tell(alice, f"My sister is {SECRET}", f"- Sister: {SECRET}")
    store.put(charlie.pk, USER_FILE, "- Charlie's", By())
    alice.delete()
    assert SECRET not in everywhere()
    assert Conversation.objects.count() == 0
    assert store.text_of(charlie.pk, USER_FILE) == "- Charlie's\n"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("how", ["message", "file", "lines", "everything"])
def test_no_byte_of_the_file_keeps_what_was_forgotten(alice: User, how: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the file is SQLite's")
    message = tell(alice, f"My sister is {SECRET}", f"- Sister: {SECRET}")
    tell(alice, "I like tea", "- Likes tea")
    assert SECRET.encode() in _bytes()
    if how == "message":
        message.conversation.delete()
    else:
        Message.objects.filter(pk=message.pk).update(text="", model_text="")
        Conversation.objects.update(title="")
    if how == "file":
        store.remove_file(alice.pk, USER_FILE)
    elif how == "lines":
        store.remove_lines(alice.pk, USER_FILE, [f"- Sister: {SECRET}"])
    elif how == "everything":
        store.remove_all(alice.pk)
    assert SECRET.encode() not in _bytes()


def _bytes() -> bytes:
    """The database file, after its log was put into it and emptied."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = Path(connection.settings_dict["NAME"])
    return b"".join(part.read_bytes() for part in (file, Path(f"{file}-wal")) if part.exists())
