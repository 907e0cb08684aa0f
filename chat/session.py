"""Session facts: the library folder, the name and the style that hold for one conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from django.db.models import Q, QuerySet

from chat.agent.prompts import wording
from chat.library_models import LibraryFolder
from chat.models import Conversation, User
from memory.service import HeldFacts

SAMPLE = "Sample library"


@dataclass(frozen=True, slots=True)
class ChosenFolder:
    pk: int
    label: str


class KeptFacts:
    """The `ConversationFacts` port of memory over the conversations themselves."""

    def held(self, owner_id: int, limit: int) -> list[HeldFacts]:
        rows = _with_facts(owner_id).select_related("folder")[:limit]
        return [HeldFacts(row.pk, str(row), _facts(row)) for row in rows]

    def forget(self, owner_id: int) -> int:
        return _with_facts(owner_id).update(name="", style="", folder=None)


def _with_facts(owner_id: int) -> QuerySet[Conversation]:
    has_none = Q(name="", style="", folder=None)
    return Conversation.objects.filter(owner_id=owner_id).exclude(has_none)


def _facts(row: Conversation) -> tuple[tuple[str, str], ...]:
    folder = label_of(row.folder) if row.folder else ""
    told = (("Call me", row.name), ("Answer", row.style), ("Folder", folder))
    return tuple((label, value) for label, value in told if value)


def folders_of(user: User) -> list[ChosenFolder]:
    """The folders that a person can choose among; none where there is nothing to choose."""
    rows = LibraryFolder.objects.visible_to(user)
    folders = [ChosenFolder(row.pk, label_of(row)) for row in rows]
    folders.sort(key=lambda one: (one.label.casefold(), one.pk))
    return folders if len(folders) > 1 else []


def label_of(folder: LibraryFolder) -> str:
    return SAMPLE if folder.owner_id is None else PurePath(folder.path).name or folder.path


def session_text(conversation: Conversation) -> str:
    """What the model is told of them; empty where nothing was chosen."""
    told = []
    if conversation.name:
        told.append(f"- Call the person: {conversation.name}")
    if conversation.style:
        told.append(f"- Answer in this style: {conversation.style}")
    if conversation.folder:
        folder = label_of(conversation.folder)
        told.append(f"- `search_library` searches the folder that they chose alone: {folder}")
    return f"{wording('session')}\n\n{_lines(told)}" if told else ""


def _lines(told: Sequence[str]) -> str:
    return "\n".join(" ".join(line.split()) for line in told)
