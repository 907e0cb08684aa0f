"""The person's memory files, for one run: what is read at its start, and the agent's tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from chat import store
from chat.agent.errors import MemoryRefused
from chat.agent.quoting import quote_memory
from chat.agent.values import MemoryReply
from chat.database import in_database
from chat.models import Run
from memory.service import (
    FileRefused,
    ListedFile,
    Opened,
    Outcome,
    Said,
    StartTexts,
    count_tokens,
    file_ids,
    forget,
    list_files,
    read_file,
    start_texts,
    write,
)

READ_CHARS = 8_000
MAX_LISTED = 200
MAX_NAMED = 40

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Notes:
    """What the system text says of memory, and the skills that this question asks for.

    `shown` names the files by their ids, so that a file that is forgotten leaves no trace in it.
    """

    start: str
    skills: str
    shown: Sequence[Mapping[str, Any]] = ()


def notes_at_start(run: Run, budget_tokens: int) -> Notes:
    first = store.first_question(run)
    found = start_texts(run.owner_id, run.question.text, budget_tokens, first_question=first)
    skills = quote_memory({"skills": _files(found.skills)}) if found.skills else ""
    return Notes(_start(found), skills, _shown(run.owner_id, found))


def _shown(owner_id: int, found: StartTexts) -> list[dict[str, Any]]:
    ids = file_ids(owner_id, [one.path for one in (*found.start, *found.skills)])
    return [
        {
            "file": ids[one.path],
            "tokens": count_tokens(one.text),
            "left_out": one.n_left_out,
            "skill": one in found.skills,
        }
        for one in (*found.start, *found.skills)
        if one.path in ids
    ]


def _start(found: StartTexts) -> str:
    told: dict[str, Any] = {"files": _files(found.start)} if found.start else {}
    if found.others:
        told["other_files"] = list(found.others[:MAX_NAMED])
        n_more = len(found.others) - MAX_NAMED
        if n_more > 0:
            told["note"] = f"{n_more} more files are left out here; memory_list names all."
    return quote_memory(told) if told else ""


def _files(files: Sequence[Opened]) -> list[dict[str, str]]:
    told = []
    for file in files:
        one = {"path": file.path, "text": file.text}
        if file.n_left_out:
            one["cut"] = f"{file.n_left_out} lines are left out here; memory_read shows them."
        told.append(one)
    return told


class RunMemory:
    """The `MemoryFiles` port over the database, for the owner of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def list_files(self) -> MemoryReply:
        files = await _asked(list_files, self._run.owner_id)
        told: dict[str, Any] = {"files": [_listed(file) for file in files[:MAX_LISTED]]}
        if len(files) > MAX_LISTED:
            told["note"] = f"{len(files) - MAX_LISTED} more files are left out here."
        count = "1 file" if len(files) == 1 else f"{len(files)} files"
        return MemoryReply(told=told, said=f"Looked at the list of memory files: {count}")

    async def read(self, path: str, *, start_line: int) -> MemoryReply:
        text = await _asked(read_file, self._run.owner_id, path)
        lines = text.rstrip("\n").split("\n")
        shown, end = _part(lines, start_line - 1)
        told: dict[str, Any] = {"path": path, "text": "\n".join(shown)}
        if end < len(lines):
            told["note"] = f"The file has {len(lines)} lines; read on with start_line={end + 1}."
        return MemoryReply(told=told, said=f"Read {path}")

    async def write(self, path: str, text: str, *, replaces: str, quote: str) -> MemoryReply:
        return _reply(await _asked(self._write, path, text, replaces, quote))

    async def forget(self, path: str, text: str, *, quote: str) -> MemoryReply:
        return _reply(await _asked(self._forget, path, text, quote))

    def _write(self, path: str, text: str, replaces: str, quote: str) -> Outcome:
        return write(
            self._run.owner_id,
            path,
            text,
            replaces=replaces,
            said=self._said(quote),
            answer_id=self._run.answer_id,
        )

    def _forget(self, path: str, text: str, quote: str) -> Outcome:
        run = self._run
        said = self._said(quote)
        return forget(run.owner_id, path, text, said=said, answer_id=run.answer_id)

    def _said(self, quote: str) -> Said | None:
        """The message that a change rests on: the live question, or the newest earlier one of the
        person that holds the quote. None when they never said that."""
        found = store.said_with(self._run, quote)
        return Said(found.pk, found.text) if found else None


def _part(lines: Sequence[str], begin: int) -> tuple[Sequence[str], int]:
    """The lines from `begin` on that fit into one reading, at least one, and where they end."""
    end, n_chars = begin, 0
    while end < len(lines) and (end == begin or n_chars + len(lines[end]) <= READ_CHARS):
        n_chars += len(lines[end]) + 1
        end += 1
    return lines[begin:end], end


def _listed(file: ListedFile) -> dict[str, Any]:
    return {"path": file.path, "characters": file.n_chars, "changed": file.changed_on}


def _reply(outcome: Outcome) -> MemoryReply:
    told: dict[str, Any] = {
        "saved": outcome.state in {"saved", "known"},
        "state": outcome.state,
        "path": outcome.path,
        "tell_the_person": outcome.told,
    }
    if outcome.why:
        told["why"] = outcome.why
    if outcome.replaced:
        told["replaced"] = list(outcome.replaced)
    return MemoryReply(told=told, said=outcome.told)


async def _asked(ask: Callable[..., Result], *given: Any) -> Result:
    try:
        return await in_database(ask)(*given)
    except FileRefused as refused:
        raise MemoryRefused(str(refused)) from refused
