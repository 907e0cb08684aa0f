"""All that a stranger must leave as it is."""

from __future__ import annotations

from typing import Any

from chat.accounts.models import Session
from chat.models import (
    Conversation,
    LibraryDocument,
    Message,
    Run,
    User,
)
from memory.models import MemoryFile, Proposal, Revision


def everything_of(owner: User) -> list[Any]:
    """The rows that a stranger must not change."""
    tables: list[Any] = [Conversation, Message, Run, LibraryDocument]
    return [
        *([list(table.objects.of(owner).values()) for table in tables]),
        list(MemoryFile.objects.of(owner.pk).values()),
        list(Revision.objects.of(owner.pk).values()),
        list(Proposal.objects.of(owner.pk).values()),
        User.objects.filter(pk=owner.pk).values().get(),
        list(Session.objects.filter(user=owner).values("session_key", "session_data")),
    ]
