"""Memory files as their pages show them: a tree, and revisions with what each one changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memory.engine.files import unified_diff
from memory.models import MemoryFile, Proposal, Revision

REVISIONS_SHOWN = 30
_DIFF_KINDS = {"+": "added", "-": "removed", "@": "place"}


@dataclass(slots=True)
class Folder:
    name: str
    folders: dict[str, Folder] = field(default_factory=dict)
    files: list[tuple[str, MemoryFile]] = field(default_factory=list)

    @property
    def subfolders(self) -> Sequence[Folder]:
        return tuple(self.folders.values())


def tree_of(files: Iterable[MemoryFile]) -> Folder:
    """The files in their folders; at the top are AGENTS.md and the first folders."""
    top = Folder("")
    for file in files:
        *folders, name = file.path.split("/")
        place = top
        for one in folders:
            place = place.folders.setdefault(one, Folder(one))
        place.files.append((name, file))
    return top


@dataclass(frozen=True, slots=True)
class DiffLine:
    """`kind` is added, removed, place (where in the file), or empty for what stays."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownRevision:
    row: Revision
    diff: Sequence[DiffLine]
    is_newest: bool

    @property
    def who(self) -> str:
        if self.row.author == Revision.Author.IMPORT:
            return f"{self.row.author_name or 'somebody'}, in a folder"
        return "Lumina" if self.row.author == Revision.Author.AGENT else "You"


def shown_revisions(rows: Sequence[Revision], limit: int | None) -> list[ShownRevision]:
    """Newest first, up to `limit`. `rows` are all of a file, oldest first."""
    first = 0 if limit is None else max(0, len(rows) - limit)
    shown = []
    for index in range(first, len(rows)):
        before = rows[index - 1].text if index else ""
        is_newest = index == len(rows) - 1
        shown.append(ShownRevision(rows[index], diff_lines(before, rows[index].text), is_newest))
    return shown[::-1]


def diff_lines(before: str, after: str) -> list[DiffLine]:
    """The lines of a unified diff, without the two that name the files."""
    lines = unified_diff(before, after, "before", "after").split("\n")[2:]
    return [DiffLine(_DIFF_KINDS.get(line[:1], ""), line) for line in lines]


def wish_lines(wish: Proposal) -> list[DiffLine]:
    """What a proposal would change."""
    gone = wish.text if wish.kind == Proposal.Kind.FORGET else wish.old
    new = "" if wish.kind == Proposal.Kind.FORGET else wish.text
    told = [DiffLine("removed", f"-{line}") for line in gone.splitlines()]
    return told + [DiffLine("added", f"+{line}") for line in new.splitlines()]
