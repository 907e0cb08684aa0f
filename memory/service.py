"""The door between the conversation and memory: the only module of `memory` that `chat` imports."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory import embedding, store
from memory.engine.errors import EmbedderFailed
from memory.engine.files import FileRefused, label_of, normal_path
from memory.engine.finding import words_found
from memory.engine.opening import Opened, StoredFile, always_read, matching_skills, opened
from memory.engine.ports import Embedder
from memory.engine.sanitizer import Author, Sanitized, StoredSource, sanitize
from memory.engine.terms import exact_terms
from memory.engine.terms import fold as folded
from memory.engine.tokens import estimate_tokens
from memory.engine.values import Message as HistoryMessage
from memory.engine.values import Packed, Policy, Role, Span
from memory.engine.written import written
from memory.forgetting import whole_conversation
from memory.gate import Said
from memory.keeping import Outcome, forget, write
from memory.later import later
from memory.models import MemoryFile
from memory.phrases import asks_name, note_of, wish_to_remember
from memory.ports import ConversationFacts, HeldFacts, MessageReader, ReadMessage
from memory.private import screen_secrets
from memory.stored import checking, meaning, recalling, searching, state
from memory.stored.indexing import NotTheirs, forget_index
from memory.stored.searching import FoundLine
from memory.stored.state import IndexedState
from memory.summarising import (
    KeptSummary,
    SummaryText,
    left_window,
    summaries,
    summaries_of,
    summarise,
)
from memory.summary_ports import Summariser, SummaryFailed, SummaryLimits, summarise_with

__all__ = [
    "EmbedderFailed",
    "FileRefused",
    "FoundLine",
    "HeldFacts",
    "HistoryMessage",
    "IndexedState",
    "KeptSummary",
    "ListedFile",
    "NotTheirs",
    "Opened",
    "Outcome",
    "Packed",
    "ReadMessage",
    "Said",
    "Sanitized",
    "StartTexts",
    "StoredSource",
    "Summariser",
    "SummaryFailed",
    "SummaryLimits",
    "SummaryText",
    "asks_name",
    "check",
    "clean_text",
    "conversation_facts",
    "conversations",
    "count_tokens",
    "embedder_name",
    "encode_pending",
    "exact_terms",
    "facts_from",
    "file_ids",
    "file_paths",
    "files_resting_on",
    "folded",
    "forget",
    "forget_index",
    "forget_owner",
    "index_state",
    "label_of",
    "left_window",
    "list_files",
    "message_reader",
    "n_unindexed",
    "n_waiting",
    "note_of",
    "read_file",
    "read_messages_with",
    "rebuild",
    "recall",
    "remember",
    "remember_later",
    "remember_pending",
    "sanitize",
    "search_history",
    "start_texts",
    "summaries",
    "summaries_of",
    "summarise",
    "summarise_with",
    "whole_conversation",
    "wish_to_remember",
    "without_secrets",
    "words_found",
    "write",
    "written_lines",
]


def clean_text(text: str, *, author: Author = "assistant") -> str:
    """Text as it may be stored: no storage marker, no control characters, no thoughts."""
    return sanitize(text, author=author).text


def without_secrets(text: str) -> str:
    """The text without its lines that hold a password or a key."""
    return screen_secrets(text).text


def count_tokens(text: str) -> int:
    """About how many tokens a model counts for this text; an estimate on the safe side."""
    return estimate_tokens(text)


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


def file_ids(owner_id: int, paths: Iterable[str]) -> dict[str, int]:
    """The ids of those of the files that exist, by path."""
    return store.ids_of(owner_id, paths)


def file_paths(owner_id: int, ids: Iterable[int]) -> dict[int, tuple[str, datetime]]:
    """Path and last change of those of the files that exist, by id."""
    return store.paths_by_id(owner_id, ids)


def n_waiting(owner_id: int) -> int:
    """How many changes wait for the person's yes."""
    return len(store.proposals_of(owner_id))


def files_resting_on(owner_id: int, message_ids: Collection[int]) -> list[str]:
    """The paths of the files that hold, or held, something that came from these messages."""
    return store.paths_resting_on(owner_id, message_ids)


def forget_owner(owner_id: int) -> int:
    """Everything that is remembered of a person: files, summaries, index. Their conversations are
    not touched. Says how many rows went."""
    return store.remove_all(owner_id)


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


# --- The history --------------------------------------------------------------------------------

_SEARCH_INDEXES, _SEARCH_SECONDS = 1_000, 2.0
_readers: list[MessageReader] = []
_facts: list[ConversationFacts] = []


def read_messages_with(reader: MessageReader) -> None:
    """Says once, at the start, how messages are read."""
    _readers[:] = [reader]


def facts_from(facts: ConversationFacts) -> None:
    """Says once, at the start, who keeps what holds for single conversations."""
    _facts[:] = [facts]


def conversation_facts() -> ConversationFacts:
    return _facts[0]


def message_reader() -> MessageReader:
    return _readers[0]


def remember_later(message_id: int) -> None:
    """Have a message indexed once this transaction has committed."""
    from memory import tasks  # tasks know this module

    later(tasks.remember, [message_id])


def remember(message_id: int) -> None:
    """Index a message with all that stands before it on its path. In any order, and again at will:
    what is indexed already, gone, or still being written is passed over."""
    recalling.remember(_readers[0], message_id)


def remember_pending(*, limit: int) -> int:
    """Index final messages that no task has indexed, newest first; says how many it found."""
    return recalling.remember_pending(_readers[0], limit)


def recall(
    owner_id: int,
    conversation_id: int,
    head_id: int | None,
    question: str,
    budget_tokens: int,
    *,
    now: datetime | None = None,
    shown: Collection[str] = (),
    first_source: int | None = 1,
    policy: Policy = "fill",
) -> Packed:
    """What a model should see for a question of the path that ends with the message `head_id`, the
    last before the question.

    `shown` are ids ("m12", "s40") of what the model sees anyway. Pages get the numbers of sources
    from `first_source` on. `lean` stops when nothing relevant is left. What is not indexed yet is
    indexed here. Raises NotTheirs.
    """
    return recalling.recall(
        _readers[0],
        owner_id,
        conversation_id,
        head_id,
        question,
        budget_tokens,
        now=now,
        shown=shown,
        first_source=first_source,
        policy=policy,
        embedder=_embedder(),
    )


def written_lines(part: HistoryMessage, spans: Iterable[tuple[int, int]]) -> list[str]:
    """Packed lines of one message or source, read again: at each (start, end) of its clean text
    the line as it is printed, empty where nothing is any more."""
    return written(part, [Span(start, end) for start, end in spans])


def _embedder() -> Embedder | None:
    """None also where it does not load: the state says so, and words do the work."""
    try:
        return embedding.embedder()
    except EmbedderFailed:
        return None


def embedder_name() -> str:
    """The encoder, after a trial; empty where there is none. Raises EmbedderFailed."""
    encoder = embedding.embedder()
    if encoder is None:
        return ""
    encoder.encode_question("Is somebody there?")
    return encoder.name


def n_unindexed(*, most: int = 10_000) -> int:
    """How many final messages wait to be indexed, counted up to `most`."""
    return recalling.n_pending(_readers[0], most)


def encode_pending(*, limit: int) -> int:
    """Encode parts without vectors of the configured encoder, oldest first; says how many it did,
    none where there is no encoder or it fails."""
    try:
        encoder = embedding.embedder()
    except EmbedderFailed as error:
        recalling.note_problem(str(error))
        return 0
    return meaning.encode_pending(_readers[0], encoder, limit) if encoder else 0


def search_history(
    owner_id: int,
    query: str,
    *,
    limit: int = 20,
    conversation_id: int | None = None,
    role: Role | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[FoundLine]:
    """Lines of all that the owner said and read in which any of the words occurs, the best of each
    message, best first. Quotes, wildcards and operators are words like any other or nothing.

    `since` counts, `until` does not. What nobody has indexed is indexed first, the newest first,
    for as long as a person waits for a page.
    """
    recalling.remember_pending(
        _readers[0], _SEARCH_INDEXES, owner_id=owner_id, seconds=_SEARCH_SECONDS
    )
    return searching.search(
        _readers[0],
        owner_id,
        query,
        limit=limit,
        conversation_id=conversation_id,
        role=role,
        since=since,
        until=until,
    )


def conversations() -> list[int]:
    """All of them, the oldest first."""
    return recalling.conversations()


def rebuild(conversation_id: int) -> int:
    """Index a conversation anew; says how many of its messages are indexed."""
    return checking.rebuild(_readers[0], conversation_id)


def check(conversation_id: int) -> list[str]:
    """In what the index of a conversation differs from one built afresh, in plain words."""
    return checking.differences(_readers[0], conversation_id)


def index_state(conversation_id: int) -> IndexedState:
    """How much of a conversation is indexed, and what went wrong with it."""
    return state.index_state(conversation_id)
