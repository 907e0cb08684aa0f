"""Session facts: the library folder, the name and the style that hold for one conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from chat.agent.prompts import wording
from chat.library_models import LibraryFolder
from chat.models import Conversation, User

SAMPLE = "Sample library"


@dataclass(frozen=True, slots=True)
class ChosenFolder:
    pk: int
    label: str


def folders_of(user: User) -> list[ChosenFolder]:
    """The folders that a person can choose among; none where there is nothing to choose."""
    rows = list(LibraryFolder.objects.visible_to(user))
    return [ChosenFolder(row.pk, label_of(row)) for row in rows] if len(rows) > 1 else []


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
