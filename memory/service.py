"""The door between the conversation and memory: the only module of `memory` that `chat` imports."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory import store
from memory.engine.files import FileRefused, label_of, normal_path
from memory.engine.finding import words_found
from memory.engine.history import History
from memory.engine.opening import Opened, StoredFile, always_read, matching_skills, opened
from memory.engine.sanitizer import Author, Sanitized, StoredSource, sanitize
from memory.engine.tokens import estimate_tokens
from memory.engine.values import Message as HistoryMessage
from memory.engine.values import Packed
from memory.gate import Said
from memory.keeping import Outcome, forget, write
from memory.models import MemoryFile
from memory.phrases import asks_name, note_of, wish_to_remember
from memory.ports import MessageReader, ReadMessage

__all__ = [
    "FileRefused",
    "HistoryMessage",
    "ListedFile",
    "Opened",
    "Outcome",
    "ReadMessage",
    "Said",
    "Sanitized",
    "StartTexts",
    "StoredSource",
    "asks_name",
    "clean_text",
    "count_tokens",
    "files_resting_on",
    "forget",
    "forget_owner",
    "label_of",
    "list_files",
    "n_waiting",
    "note_of",
    "read_file",
    "sanitize",
    "start_texts",
    "wish_to_remember",
    "words_found",
    "write",
]


def clean_text(text: str, *, author: Author = "assistant") -> str:
    """Text as it may be stored: no storage marker, no control characters, no thoughts."""
    return sanitize(text, author=author).text


def count_tokens(text: str) -> int:
    """About how many tokens a model counts for this text; an estimate on the safe side."""
    return estimate_tokens(text)


# --- The conversation -----------------------------------------------------------------------------

_readers: list[MessageReader] = []


def read_messages_with(reader: MessageReader) -> None:
    """Where memory reads messages: told once, when the applications are ready."""
    _readers[:] = [reader]


def recall(
    owner_id: int,
    conversation_id: int,
    head_id: int | None,
    question: str,
    budget_tokens: int,
    *,
    now: datetime | None = None,
    shown: Collection[str] = (),
) -> Packed:
    """The lines up to the message `head_id` that a question needs, within the budget.

    `shown` are the ids ("m…", "s…") that the model sees anyway.
    """
    reader = _readers[0]
    found = reader.read(reader.path(conversation_id, head_id))
    parts = [part for one in found if one.owner_id == owner_id for part in one.parts]
    packed = History(parts).pack(question, budget_tokens, now=now, policy="lean")
    lines = tuple(line for line in packed.lines if line.message_id not in shown)
    return replace(packed, lines=lines)


# --- Memory files -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedFile:
    path: str
    n_chars: int
    changed_on: str


@dataclass(frozen=True, slots=True)
class StartTexts:
    """What is read before a question is answered.

    `start` stays the same for a whole conversation as long as the files do; `skills` are those
    that the live question alone asks for; `others` are the paths of all files not in `start`.
    """

    start: Sequence[Opened] = ()
    skills: Sequence[Opened] = ()
    others: Sequence[str] = ()


def start_texts(
    owner_id: int, question: str, budget_tokens: int, *, first_question: str = ""
) -> StartTexts:
    """AGENTS.md, knowledge/user.md and matching skills, within the budget; what is cut says so.

    `first_question` is the one that began the conversation, `question` itself by default.
    """
    files = [_stored(row) for row in store.start_files(owner_id)]
    begun_with = matching_skills(files, first_question or question)
    now_asked = [file for file in matching_skills(files, question) if file not in begun_with]
    start = opened([*always_read(files), *begun_with], budget_tokens, _quoted_tokens)
    shown = {one.path for one in start}
    return StartTexts(
        start=start,
        skills=opened(now_asked, budget_tokens // 2, _quoted_tokens),
        others=tuple(path for path in store.paths_of(owner_id) if path not in shown),
    )


def list_files(owner_id: int) -> list[ListedFile]:
    """All files of one owner, by path."""
    return [
        ListedFile(path, n_chars, f"{changed_at:%Y-%m-%d}")
        for path, n_chars, changed_at in store.sizes_of(owner_id)
    ]


def n_waiting(owner_id: int) -> int:
    """How many changes wait for the person's yes."""
    return len(store.proposals_of(owner_id))


def files_resting_on(owner_id: int, message_ids: Collection[int]) -> list[str]:
    """The paths of the files that hold, or held, something that came from these messages."""
    return store.paths_resting_on(owner_id, message_ids)


def forget_owner(owner_id: int) -> None:
    """Everything that is remembered of a person; their conversations are not touched."""
    store.remove_all(owner_id)


def read_file(owner_id: int, path: str) -> str:
    """A file's text. Raises FileRefused when there is no such file."""
    row = store.file_of(owner_id, normal_path(path))
    if row is None:
        raise FileRefused(f"There is no file {path}. memory_list names all.")
    return row.text


def _stored(row: MemoryFile) -> StoredFile:
    return StoredFile(row.path, row.text, row.changed_at, row.ages)


def _quoted_tokens(text: str) -> int:
    return count_tokens(json.dumps(text, ensure_ascii=False)) if text else 0
