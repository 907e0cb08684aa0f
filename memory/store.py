"""Rows of memory files. Owns the transactions; every way in names the owner.

A change makes a revision; forgetting rewrites every revision, so that no text stays behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max, Q
from django.db.models.functions import Length
from django.utils import timezone

from memory.engine.files import AGENTS, MAX_FILE_CHARS, USER, FileRefused, clean
from memory.engine.lineage import Version, line_ages, without_lines, without_source
from memory.models import IndexState, MemoryFile, Proposal, Revision, Summary

MAX_FILES, MAX_PROPOSALS = 1_000, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who changes a file, why, and the person's message that it rests on."""

    author: str = Revision.Author.PERSON
    name: str = ""
    reason: str = ""
    source_id: int | None = None


def files_of(owner_id: int) -> list[MemoryFile]:
    """All files by path, without their texts, each with `n_revisions`."""
    own = MemoryFile.objects.of(owner_id).defer("text", "ages").order_by("path")
    return list(own.annotate(n_revisions=Count("revisions")))


def sizes_of(owner_id: int) -> list[tuple[str, int, datetime]]:
    """Path, characters and last change of all files, by path."""
    own = MemoryFile.objects.of(owner_id).order_by("path").annotate(n_chars=Length("text"))
    return list(own.values_list("path", "n_chars", "changed_at"))


def texts_of(owner_id: int) -> dict[str, str]:
    """All texts by path."""
    own = MemoryFile.objects.of(owner_id).order_by("path")
    return dict(own.values_list("path", "text"))


def paths_of(owner_id: int) -> list[str]:
    return list(MemoryFile.objects.of(owner_id).order_by("path").values_list("path", flat=True))


def ids_of(owner_id: int, paths: Iterable[str]) -> dict[str, int]:
    own = MemoryFile.objects.of(owner_id).filter(path__in=list(paths))
    return dict(own.values_list("path", "pk"))


def paths_by_id(owner_id: int, ids: Iterable[int]) -> dict[int, tuple[str, datetime]]:
    own = MemoryFile.objects.of(owner_id).filter(pk__in=list(ids))
    return {pk: (path, at) for pk, path, at in own.values_list("pk", "path", "changed_at")}


def paths_resting_on(owner_id: int, message_ids: Collection[int]) -> list[str]:
    own = MemoryFile.objects.of(owner_id).filter(revisions__source_id__in=message_ids)
    return list(own.order_by("path").values_list("path", flat=True).distinct())


def start_files(owner_id: int) -> list[MemoryFile]:
    """The files that may be read at the start: AGENTS.md, knowledge/user.md and all skills."""
    readable = Q(path__in=(AGENTS, USER)) | Q(path__startswith="skills/")
    return list(MemoryFile.objects.of(owner_id).filter(readable))


def file_of(owner_id: int, path: str) -> MemoryFile | None:
    return MemoryFile.objects.of(owner_id).filter(path=path).first()


def text_of(owner_id: int, path: str) -> str:
    found = file_of(owner_id, path)
    return found.text if found else ""


def revisions_of(file: MemoryFile) -> list[Revision]:
    """Oldest first."""
    return list(file.revisions.select_related("source"))


def newest_number(file: MemoryFile) -> int:
    return file.revisions.aggregate(newest=Max("number"))["newest"] or 0


def put(
    owner_id: int, path: str, text: str, by: By, *, expected: str | None = None
) -> Revision | None:
    """The file's new text, as its next revision; None when it is the text that it has.

    `expected` is the text that the new one was made from: FileRefused when somebody else has
    changed the file in the meantime.
    """
    text = clean(text)
    if len(text) > MAX_FILE_CHARS:
        raise FileRefused(
            f"The file would have {len(text):,} characters; at most {MAX_FILE_CHARS:,} are kept. "
            "Use another file."
        )
    with transaction.atomic():
        file = _locked(owner_id, path)
        if file is None:
            if not text:
                return None
            file = _new_file(owner_id, path)
        if expected is not None and file.text != expected:
            raise FileRefused("The file was changed at the same moment. Read it and try again.")
        if file.text == text:
            return None
        return _revise(file, text, by)


def _locked(owner_id: int, path: str) -> MemoryFile | None:
    return MemoryFile.objects.of(owner_id).select_for_update().filter(path=path).first()


def _new_file(owner_id: int, path: str) -> MemoryFile:
    if MemoryFile.objects.of(owner_id).count() >= MAX_FILES:
        raise FileRefused(f"There are {MAX_FILES:,} memory files already. Delete some first.")
    defaults = {"changed_at": timezone.now()}
    file, _ = MemoryFile.objects.select_for_update().get_or_create(
        owner_id=owner_id, path=path, defaults=defaults
    )
    return file


def _revise(file: MemoryFile, text: str, by: By) -> Revision:
    now = timezone.now()
    number = newest_number(file) + 1
    file.ages = line_ages(file.text, file.ages, text, number)
    file.text = text
    file.changed_at = now
    file.save()
    return Revision.objects.create(
        file=file,
        number=number,
        text=text,
        author=by.author,
        author_name=by.name,
        reason=by.reason,
        source_id=by.source_id,
        created_at=now,
    )


def restore(owner_id: int, path: str, number: int) -> bool:
    """Makes the text of an older revision the newest one. False when there is no such revision."""
    with transaction.atomic():
        file = _locked(owner_id, path)
        found = file.revisions.filter(number=number).first() if file else None
        if file is None or found is None:
            return False
        if found.text != file.text:
            _revise(file, found.text, By(reason=f"back to revision {number}"))
    return True


def undo(owner_id: int, path: str) -> bool:
    """Takes the newest change back; of a file with one revision nothing is left."""
    with transaction.atomic():
        file = _locked(owner_id, path)
        if file is None:
            return False
        before = file.revisions.order_by("-number").values_list("text", flat=True)[1:2]
        if not before:
            file.delete()
        else:
            _revise(file, before[0], By(reason="undo"))
    return True


# --- Forgetting ---------------------------------------------------------------------------------


def remove_file(owner_id: int, path: str) -> bool:
    """The file with all its revisions, and what waits to change it."""
    with transaction.atomic():
        Proposal.objects.of(owner_id).filter(path=path).delete()
        n_gone, _ = MemoryFile.objects.of(owner_id).filter(path=path).delete()
    return n_gone > 0


def remove_all(owner_id: int) -> int:
    """Files and what waits, summaries, and the index of every conversation; says how many rows."""
    with transaction.atomic():
        n_gone = Proposal.objects.of(owner_id).delete()[0]
        n_gone += MemoryFile.objects.of(owner_id).delete()[0]
        n_gone += Summary.objects.filter(owner=owner_id).delete()[0]
    # One by one: that of a long conversation takes its time.
    return n_gone + sum(one.delete()[0] for one in IndexState.objects.filter(owner=owner_id))


def remove_lines(owner_id: int, path: str, lines: Sequence[str]) -> None:
    """Takes lines out of the file and out of all its revisions."""
    with transaction.atomic():
        file = _locked(owner_id, path)
        if file is not None:
            rows = revisions_of(file)
            _rewrite(file, rows, without_lines(_versions(rows), lines))


def forget_message(message_id: int) -> None:
    """Takes out of every file what came from a message that is about to go."""
    with transaction.atomic():
        Proposal.objects.filter(source_id=message_id).delete()
        touched = MemoryFile.objects.filter(revisions__source_id=message_id).distinct()
        for file in MemoryFile.objects.select_for_update().filter(pk__in=touched.values("pk")):
            rows = revisions_of(file)
            _rewrite(file, rows, without_source(_versions(rows), message_id))


def _versions(rows: Sequence[Revision]) -> list[Version]:
    return [Version(row.text, row.source_id) for row in rows]


def _rewrite(file: MemoryFile, rows: Sequence[Revision], texts: Sequence[str | None]) -> None:
    """Gives revisions new texts. Those that go, or that now change nothing, leave no gap."""
    before, number = "", 0
    ages: list[int] = []
    for row, told in zip(rows, texts, strict=True):
        text = None if told is None else clean(told)
        if text is None or text == before:
            row.delete()
            continue
        number += 1
        ages = line_ages(before, ages, text, number)
        Revision.objects.filter(pk=row.pk).update(text=text, number=number)
        before = text
    if not before:
        file.delete()
        return
    file.text, file.ages, file.changed_at = before, ages, timezone.now()
    file.save()


# --- What waits for a yes -----------------------------------------------------------------------


def propose(proposal: Proposal) -> None:
    """Keeps it, once. Raises FileRefused when too many wait already."""
    own = Proposal.objects.of(proposal.owner_id)
    same = own.filter(path=proposal.path, kind=proposal.kind, text=proposal.text, old=proposal.old)
    if same.exists():
        return
    if own.count() >= MAX_PROPOSALS:
        raise FileRefused(f"{MAX_PROPOSALS} changes wait for the person's yes already.")
    proposal.created_at = timezone.now()
    proposal.save()


def proposals_of(owner_id: int) -> list[Proposal]:
    return list(Proposal.objects.of(owner_id).select_related("source"))


def proposal_of(owner_id: int, pk: int) -> Proposal | None:
    return Proposal.objects.of(owner_id).filter(pk=pk).first()
