"""What alice owns and nobody else may see: each piece of it says "secret"."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from chat.accounts import invitations
from chat.models import (
    LibraryDocument,
    LibraryFolder,
    LibraryPassage,
    Run,
    User,
)
from memory import store as memory_store
from memory.models import Proposal
from tests.web.test_pages import answered


@pytest.fixture
def bob(db: Any) -> User:
    """An operator who is no owner, and has leave to read nothing."""
    return User.objects.create_user("bob", is_staff=True)


@pytest.fixture
def secret_run(alice: User) -> Run:
    run = answered(alice, "A secret answer [1].", "A secret question?")
    rests_on = memory_store.By(source_id=run.question_id)
    memory_store.put(alice.pk, "knowledge/secret.md", "- A secret note", rests_on)
    wish = Proposal(owner=alice, path="knowledge/secret.md", kind="append", text="- A secret wish")
    memory_store.propose(wish)
    Client().force_login(alice)
    invitations.invite(alice, email="secret@example.org")
    return run


@pytest.fixture
def secret_document(alice: User) -> LibraryDocument:
    folder = LibraryFolder.objects.create(owner=alice, path="/secret")
    document = LibraryDocument.objects.create(
        folder=folder, path="a.md", title="A secret document", text="secret", mtime_ns=0
    )
    LibraryPassage.objects.create(document=document, start=0, end=6, terms=["secret"])
    return document
