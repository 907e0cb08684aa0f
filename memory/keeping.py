"""Changing memory files: by the agent through the gate, by a person by hand.

What the agent wants is let in, waits for the person's yes, or is refused; each outcome is a
sentence for the person. What private things were left out is named by kind, never repeated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory import store
from memory.engine.files import FileRefused, append, clean, normal_path, replace
from memory.gate import Said, Verdict, judge_forgetting, judge_words, worth_keeping
from memory.models import Proposal, Revision
from memory.private import screen, screen_secrets
from memory.store import By

MAX_WRITE_CHARS = 4_000
_WORD = re.compile(r"[^\W_]+")
OWN_SUMMARIES = "conversations/summaries/"

State = Literal["saved", "known", "waits", "refused", "forgotten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a wish. `told` is for the person and holds no text of the wish itself; `why`
    is the gate's reason, `replaced` the lines that gave way."""

    state: State
    path: str
    told: str
    why: str = ""
    replaced: Sequence[str] = ()
    left_out: Sequence[str] = ()


# --- The agent ----------------------------------------------------------------------------------


def write(
    owner_id: int,
    path: str,
    text: str,
    *,
    replaces: str = "",
    said: Said | None,
    answer_id: int | None = None,
) -> Outcome:
    """Appends to a file, or replaces a text in it that occurs exactly once. `answer_id` is the
    message that is being written meanwhile: what waits goes when that is deleted.

    Raises FileRefused for a path, an old text or a length that cannot be taken.
    """
    path = _agents_path(path)
    if len(text) > MAX_WRITE_CHARS:
        raise FileRefused(f"At most {MAX_WRITE_CHARS:,} characters are written at once.")
    screened = screen(clean(text).rstrip("\n"), said=said.text if said else "")
    kept, left_out = screened.text, screened.left_out
    before = store.text_of(owner_id, path)
    changed = _Change.of(before, kept, replaces)
    if left_out and not kept.strip():
        return _refused(path, f"it holds {_listed(left_out)}", left_out)
    if kept.strip() and not worth_keeping(_without_known(kept, before)) and not replaces:
        known = bool(before) and clean(changed.text) == before
        return _known(path) if known else _refused(path, "there is nothing in it worth keeping")
    if clean(changed.text) == before:
        return _known(path)
    verdict = judge_words(changed.added, changed.removed, said)
    if not verdict.lets_in:
        kind = "replace" if replaces else "append"
        wish = Proposal(kind=kind, text=kept, old=replaces, answer_id=answer_id)
        return _waits(owner_id, path, wish, verdict, said, left_out)
    by = By(author=Revision.Author.AGENT, source_id=said.message_id if said else None)
    store.put(owner_id, path, changed.text, by, expected=before)
    told = f"Saved to {path}" + _without(left_out)
    return Outcome(
        state="saved", path=path, told=told, replaced=changed.replaced, left_out=left_out
    )


def forget(
    owner_id: int, path: str, text: str, *, said: Said | None, answer_id: int | None = None
) -> Outcome:
    """Forgets the lines that hold `text`, or the whole file, in all revisions.

    Raises FileRefused when there is no such file or text.
    """
    path, text = _agents_path(path), clean(text).strip()
    lines = _lines_with(owner_id, path, text)
    verdict = judge_forgetting(
        f"{path.removesuffix('.md')}\n" * (not text) + "\n".join(lines), said
    )
    if not verdict.lets_in:
        wish = Proposal(kind="forget", text=text, answer_id=answer_id)
        return _waits(owner_id, path, wish, verdict, said, ())
    return _forgotten(owner_id, path, text, lines)


def _agents_path(given: str) -> str:
    """The paths are in every prompt, so a name must not become a sentence or an address."""
    path = normal_path(given)
    if path.startswith(OWN_SUMMARIES):
        raise FileRefused("Summaries are written by Lumina itself. Use knowledge/ instead.")
    names = path.removesuffix(".md").split("/")
    if screen(path).left_out or any("." in name or len(_WORD.findall(name)) > 4 for name in names):
        raise FileRefused("Name the file by its topic: at most four words, without a dot.")
    return path


@dataclass(frozen=True, slots=True)
class _Change:
    """A file's text with a change made. `added` and `removed` are what the gate judges."""

    text: str
    added: str
    removed: str
    replaced: Sequence[str] = ()

    @classmethod
    def of(cls, before: str, new: str, replaces: str) -> _Change:
        if replaces:
            text = replace(before, replaces, new)
            return cls(text, new, replaces, (replaces.strip(),))
        done = append(before, new)
        added = _without_known(new, before)
        return cls(done.text, added, "\n".join(done.replaced), done.replaced)


def _without_known(new: str, before: str) -> str:
    known = {line.strip() for line in before.split("\n")}
    return "\n".join(line for line in new.split("\n") if line.strip() not in known)


def _lines_with(owner_id: int, path: str, text: str) -> list[str]:
    file = store.file_of(owner_id, path)
    if file is None:
        raise FileRefused(f"There is no file {path}. memory_list names all.")
    lines = [line for line in file.text.split("\n") if line.strip()]
    if not text.strip():
        return lines
    wanted = [part.strip() for part in text.split("\n") if part.strip()]
    found = [line for line in lines if any(part in line for part in wanted)]
    if not found:
        raise FileRefused(f"The text does not occur in {path}. Read the file first.")
    return found


def _forgotten(owner_id: int, path: str, text: str, lines: Sequence[str]) -> Outcome:
    if text.strip():
        store.remove_lines(owner_id, path, lines)
        return Outcome(state="forgotten", path=path, told=f"Forgotten in {path}")
    store.remove_file(owner_id, path)
    return Outcome(state="forgotten", path=path, told=f"Forgotten: {path}")


def _waits(
    owner_id: int,
    path: str,
    wish: Proposal,
    verdict: Verdict,
    said: Said | None,
    left_out: Sequence[str],
) -> Outcome:
    wish.owner_id, wish.path, wish.why = owner_id, path, verdict.why
    wish.source_id = said.message_id if said else None
    store.propose(wish)
    told = f"Waits for your yes: {path}" + _without(left_out)
    return Outcome(state="waits", path=path, told=told, why=verdict.why, left_out=left_out)


def _known(path: str) -> Outcome:
    return Outcome(state="known", path=path, told=f"Already in {path}")


def _refused(path: str, why: str, left_out: Sequence[str] = ()) -> Outcome:
    return Outcome(state="refused", path=path, told=f"Not saved: {why}.", left_out=left_out)


def _listed(kinds: Sequence[str]) -> str:
    return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)


def _without(left_out: Sequence[str]) -> str:
    return f", without {_listed(left_out)}" if left_out else ""


# --- The person ---------------------------------------------------------------------------------


def accept(owner_id: int, pk: int) -> Outcome | None:
    """Makes a change that waited. None when it is gone; raises FileRefused when the file has
    changed so that it no longer fits."""
    wish = store.proposal_of(owner_id, pk)
    if wish is None:
        return None
    if wish.kind == Proposal.Kind.FORGET:
        lines = _lines_with(owner_id, wish.path, wish.text)
        wish.delete()
        return _forgotten(owner_id, wish.path, wish.text, lines)
    before = store.text_of(owner_id, wish.path)
    changed = _Change.of(before, wish.text, wish.old)
    by = By(author=Revision.Author.AGENT, reason="you said yes", source_id=wish.source_id)
    store.put(owner_id, wish.path, changed.text, by, expected=before)
    wish.delete()
    return Outcome(state="saved", path=wish.path, told=f"Saved to {wish.path}")


def decline(owner_id: int, pk: int) -> bool:
    """Forgets a change that waited."""
    wish = store.proposal_of(owner_id, pk)
    if wish is not None:
        wish.delete()
    return wish is not None


def new_path(owner_id: int, given: str) -> str:
    """The path of a file to be. Raises FileRefused when there is one already."""
    given = given.strip()
    path = normal_path(given if given.endswith(".md") else f"{given}.md")
    if store.file_of(owner_id, path):
        raise FileRefused(f"There is a file {path} already. Open it to edit it.")
    return path


def save_by_hand(
    owner_id: int, path: str, text: str, by: By | None = None, *, expected: str | None = None
) -> Revision | None:
    """A person's own text of a file, made from `expected`; None when nothing changed.

    Raises FileRefused for a path, a length, a password or key among the new lines, or a file
    that has moved on.
    """
    path = normal_path(path)
    before = store.text_of(owner_id, path) if expected is None else expected
    found = screen_secrets(_without_known(clean(text), before)).left_out
    if found:
        raise FileRefused(f"The text holds {_listed(found)}, which memory never keeps.")
    return store.put(owner_id, path, text, by or By(), expected=before)
