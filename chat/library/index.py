"""Taking folders into the library, and keeping them as they are on the disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from chat.accounts import usage
from chat.library.passages import Piece, passages
from chat.library.reader import (
    Listing,
    ReadDocument,
    Unreadable,
    list_files,
    read_bytes,
    read_document,
)
from chat.library.terms import terms
from chat.library_models import LibraryDocument, LibraryFolder, LibraryPassage

# Goes up when files must be read anew because what is made of them has changed.
_READING = "1"
_BATCH = 500

Progress = Callable[[int, int], None]


class FolderUnreadable(Exception):
    """The message is a plain sentence."""


@dataclass(slots=True)
class ScanReport:
    """Numbers of documents; `skipped` holds files with the reason why they are not among them."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def n_documents(self) -> int:
        return self.added + self.updated + self.unchanged


@dataclass(frozen=True, slots=True)
class _Known:
    pk: int
    mtime_ns: int
    content_hash: str


class _Room:
    """What the owner's quota leaves for more text. Without a quota there is no end to it."""

    def __init__(self, owner_id: int | None) -> None:
        self._left = usage.library_room(owner_id)

    def take(self, text: str, *, instead_of: int | None) -> None:
        """Raises Unreadable when it does not fit."""
        if self._left is None:
            return
        known = LibraryDocument.objects.filter(pk=instead_of or 0)
        old = known.values_list("text", flat=True).first() or ""
        left = self._left + len(old.encode()) - len(text.encode())
        if left < 0:
            raise Unreadable("does not fit: the library's quota is full")
        self._left = left


def scan_all(progress: Progress | None = None) -> dict[str, ScanReport | FolderUnreadable]:
    """Every folder of everybody by its path, with what was found or why it could not be read."""
    found: dict[str, ScanReport | FolderUnreadable] = {}
    for folder in LibraryFolder.objects.all():
        try:
            found[folder.path] = scan_folder(folder, progress)
        except FolderUnreadable as error:
            found[folder.path] = error
    return found


def scan_folder(folder: LibraryFolder, progress: Progress | None = None) -> ScanReport:
    """Reads what is new or changed, a document a transaction, and drops what is gone.

    `progress` hears how many of how many files are done. A folder that cannot be opened keeps its
    documents: a disk that is not there today may be there tomorrow. Raises FolderUnreadable.
    """
    listing = _listing(folder)
    report = ScanReport(skipped=dict(listing.skipped))
    room = _Room(folder.owner_id)
    known = {
        path: _Known(pk, mtime_ns, content_hash)
        for pk, path, mtime_ns, content_hash in folder.documents.values_list(
            "pk", "path", "mtime_ns", "content_hash"
        )
    }
    for n_done, (name, path) in enumerate(listing.files.items(), start=1):
        try:
            _take_up(folder, name, path, known.get(name), report, room)
        except Unreadable as reason:
            report.skipped[name] = str(reason)
        if progress:
            progress(n_done, len(listing.files))
    report.removed = _drop(known, listing, report)
    folder.scanned_at = timezone.now()
    folder.save(update_fields=["scanned_at"])
    return report


def _listing(folder: LibraryFolder) -> Listing:
    try:
        return list_files(Path(folder.path), with_readme=folder.owner_id is not None)
    except FileNotFoundError as error:
        raise FolderUnreadable(f"{folder.path} does not exist.") from error
    except NotADirectoryError as error:
        raise FolderUnreadable(f"{folder.path} is not a folder.") from error
    except OSError as error:
        raise FolderUnreadable(f"{folder.path} may not be opened.") from error


def _take_up(
    folder: LibraryFolder,
    name: str,
    path: Path,
    known: _Known | None,
    report: ScanReport,
    room: _Room,
) -> None:
    mtime_ns = _mtime_ns(path)
    if known and known.mtime_ns == mtime_ns and known.content_hash.startswith(f"{_READING}:"):
        report.unchanged += 1
        return
    body = read_bytes(path)
    content_hash = f"{_READING}:{hashlib.sha256(body).hexdigest()}"
    if known and known.content_hash == content_hash:
        folder.documents.filter(pk=known.pk).update(mtime_ns=mtime_ns)
        report.unchanged += 1
        return
    read = read_document(path.name, body)
    room.take(read.text, instead_of=known.pk if known else None)
    _store(folder, name, read, content_hash, mtime_ns)
    if known:
        report.updated += 1
    else:
        report.added += 1


def _mtime_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise Unreadable("cannot be read") from error


def _store(
    folder: LibraryFolder, name: str, read: ReadDocument, content_hash: str, mtime_ns: int
) -> None:
    # The slow part first: a write transaction must be short.
    pieces = [(piece, _terms_of(piece, read)) for piece in passages(read.text)]
    with transaction.atomic():
        document, _ = LibraryDocument.objects.update_or_create(
            folder=folder,
            path=name,
            defaults={
                "title": read.title,
                "language": read.language,
                "text": read.text,
                "updated_on": read.updated_on,
                "content_hash": content_hash,
                "mtime_ns": mtime_ns,
            },
        )
        document.passages.all().delete()
        LibraryPassage.objects.bulk_create(
            (
                LibraryPassage(document=document, start=piece.start, end=piece.end, terms=found)
                for piece, found in pieces
            ),
            batch_size=_BATCH,
        )


def _terms_of(piece: Piece, read: ReadDocument) -> list[str]:
    """The title counts twice: it says what every passage is about."""
    around = [read.title, read.title, piece.heading, *read.tags]
    return terms("\n".join([read.text[piece.start : piece.end], *around]), read.language)


def _drop(known: Mapping[str, _Known], listing: Listing, report: ScanReport) -> int:
    gone = [
        one.pk for name, one in known.items() if name not in listing.files or name in report.skipped
    ]
    for start in range(0, len(gone), _BATCH):
        LibraryDocument.objects.filter(pk__in=gone[start : start + _BATCH]).delete()
    return len(gone)
