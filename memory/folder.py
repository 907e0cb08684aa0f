"""Memory files as a folder of plain files, to edit and to put under git, and back.

A manifest in the folder holds what each file was when folder and database last agreed. What has
changed since then on one side is taken over; what has changed on both is shown and left alone.
Only regular files inside the folder are read and written: no symbolic link, no path that leads
out of the tree.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memory import store
from memory.engine.files import (
    AGENTS,
    MAX_FILE_CHARS,
    FileRefused,
    clean,
    normal_path,
    unified_diff,
)
from memory.keeping import save_by_hand
from memory.models import Revision
from memory.store import By

MANIFEST = ".lumina-memory.json"
TOP_FOLDERS = ("knowledge", "skills", "conversations")
_MAX_BYTES = 4 * MAX_FILE_CHARS


class FolderRefused(Exception):
    """Why the folder as a whole cannot be used."""


@dataclass(slots=True)
class Report:
    """What happened, file by file. `conflicts` holds for each file the diff of both sides."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0
    passed_over: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)


# --- Out ----------------------------------------------------------------------------------------


def export_folder(owner_id: int, folder: Path) -> Report:
    """Writes every file. One that was edited in the folder since the last time is a conflict."""
    root = _root(folder, make=True)
    agreed = _read_manifest(root, owner_id)
    report = Report()
    kept: dict[str, str] = {}
    texts = {row.path: row.text for row in store.files_of(owner_id)}
    for path, text in texts.items():
        there = _text_in(root, path, report)
        if path in report.passed_over:
            continue
        if there is not None and _hash(there) not in (agreed.get(path), _hash(text)):
            report.conflicts[path] = _both(path, text, there)
            kept |= {path: agreed[path]} if path in agreed else {}
            continue
        kept[path] = _hash(text)
        if there == text:
            report.unchanged += 1
        else:
            _write(root, path, text)
            report.written.append(path)
    _export_removals(root, agreed, texts, kept, report)
    _write_manifest(root, owner_id, kept)
    return report


def _export_removals(
    root: Path,
    agreed: Mapping[str, str],
    texts: Mapping[str, str],
    kept: dict[str, str],
    report: Report,
) -> None:
    """What is forgotten leaves the folder too, unless it was edited there."""
    for path in agreed.keys() - texts.keys():
        there = _text_in(root, path, report)
        if there is not None and _hash(there) == agreed[path]:
            (root / path).unlink()
            report.removed.append(path)
        elif there is not None:
            report.conflicts[path] = _both(path, "", there)
            kept[path] = agreed[path]


# --- Back ---------------------------------------------------------------------------------------


def import_folder(owner_id: int, folder: Path, author: str, *, delete: bool = False) -> Report:
    """Takes the folder's edits as revisions by `author`. With `delete`, files that are gone from
    the folder go from memory too."""
    root = _root(folder, make=False)
    agreed = _read_manifest(root, owner_id)
    report = Report()
    texts = {row.path: row.text for row in store.files_of(owner_id)}
    in_folder = dict(_texts_under(root, report))
    kept = {path: mark for path, mark in agreed.items() if path in texts or path in in_folder}
    by = By(author=Revision.Author.IMPORT, name=author, reason="import")
    for path, there in in_folder.items():
        _take(owner_id, path, there, texts.get(path), agreed.get(path), by, report, kept)
    gone = [path for path in agreed if path in texts and not _is_there(root, path)]
    for path in gone:
        _take_removal(owner_id, path, texts[path], agreed[path], report, kept, delete=delete)
    _write_manifest(root, owner_id, kept)
    return report


def _take(
    owner_id: int,
    path: str,
    there: str,
    here: str | None,
    agreed: str | None,
    by: By,
    report: Report,
    kept: dict[str, str],
) -> None:
    """One file of the folder: `there` is its text, `here` that of memory."""
    edited, moved_on = _hash(there) != agreed, here is None or _hash(here) != agreed
    if here == there or (not edited and here is not None):
        report.unchanged += 1
        kept[path] = _hash(there)
        return
    if here is None and not edited:
        report.passed_over[path] = "was deleted in Lumina; export again to remove it here"
        return
    if moved_on and (here is not None or agreed is not None):
        report.conflicts[path] = _both(path, here or "", there)
        return
    try:
        save_by_hand(owner_id, path, there, by, expected=here or "")
    except FileRefused as refused:
        report.passed_over[path] = f"was not taken: {refused}"
        return
    kept[path] = _hash(there)
    report.written.append(path)


def _take_removal(
    owner_id: int,
    path: str,
    here: str,
    agreed: str,
    report: Report,
    kept: dict[str, str],
    *,
    delete: bool,
) -> None:
    if _hash(here) != agreed:
        report.conflicts[path] = _both(path, here, "")
    elif delete:
        store.remove_file(owner_id, path)
        kept.pop(path, None)
        report.removed.append(path)
    else:
        report.passed_over[path] = "is gone from the folder; --delete deletes it in Lumina too"


def _texts_under(root: Path, report: Report) -> Iterator[tuple[str, str]]:
    """The memory files of a folder, by path. What cannot be one is passed over with the reason."""
    for name in _names(root, report):
        try:
            path = normal_path(name)
        except FileRefused as refused:
            report.passed_over[name] = str(refused)
            continue
        if path != name:
            report.passed_over[name] = f"must be named {path}"
            continue
        text = _text_in(root, path, report)
        if text is not None:
            yield path, text


def _names(root: Path, report: Report) -> Iterator[str]:
    """Relative names of the files that lie in the tree, without following any link."""
    if (root / AGENTS).is_symlink() or (root / AGENTS).exists():
        yield AGENTS
    for top in TOP_FOLDERS:
        if (root / top).is_symlink():
            report.passed_over[top] = "is a symbolic link"
            continue
        for place, folders, files in os.walk(root / top):
            here = Path(place)
            for name in [one for one in folders if (here / one).is_symlink()]:
                report.passed_over[_name(root, here / name)] = "is a symbolic link"
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            yield from (_name(root, here / one) for one in sorted(files) if one.endswith(".md"))


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


# --- The disk -----------------------------------------------------------------------------------


def _root(folder: Path, *, make: bool) -> Path:
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        root = folder.resolve(strict=True)
    except OSError as error:
        raise FolderRefused(f"{folder} cannot be used: {error.strerror}.") from error
    if not root.is_dir():
        raise FolderRefused(f"{folder} is not a folder.")
    return root


def _text_in(root: Path, path: str, report: Report) -> str | None:
    """A file's text; None when it is not there, or, with the reason, cannot be read."""
    try:
        return _read(root, path)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        report.passed_over[path] = "lies where a folder is needed"
    except UnicodeDecodeError:
        report.passed_over[path] = "is not UTF-8 text"
    except FolderRefused as refused:
        report.passed_over[path] = str(refused)
    except OSError as error:
        report.passed_over[path] = f"cannot be read: {error.strerror}"
    return None


def _read(root: Path, path: str) -> str:
    _refuse_links(root, path)
    handle = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FolderRefused("is not a regular file")
        if status.st_size > _MAX_BYTES:
            raise FolderRefused(f"is too large: at most {MAX_FILE_CHARS:,} characters")
        return clean(file.read().decode("utf-8-sig"))


def _write(root: Path, path: str, text: str) -> None:
    _refuse_links(root, path)
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(target, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _refuse_links(root: Path, path: str) -> None:
    place = root
    for part in path.split("/"):
        place = place / part
        if place.is_symlink():
            raise FolderRefused("is a symbolic link, or lies behind one")


def _is_there(root: Path, path: str) -> bool:
    return os.path.lexists(root / path)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _both(path: str, here: str, there: str) -> str:
    return unified_diff(here, there, f"{path} (in Lumina)", f"{path} (in the folder)")


def _read_manifest(root: Path, owner_id: int) -> dict[str, str]:
    """What each file was when both sides last agreed, as a hash of its text."""
    try:
        text = _read(root, MANIFEST)
    except FileNotFoundError:
        return {}
    except (FolderRefused, UnicodeDecodeError, OSError) as error:
        raise FolderRefused(f"{MANIFEST} cannot be read: {error}") from error
    try:
        told = json.loads(text)
        owner, files = told["owner"], dict(told["files"])
    except (ValueError, KeyError, TypeError) as error:
        raise FolderRefused(f"{MANIFEST} is damaged. Remove it to compare anew.") from error
    if owner != owner_id:
        raise FolderRefused("The folder holds another person's memory files.")
    return {str(path): str(mark) for path, mark in files.items() if _is_path(str(path))}


def _is_path(path: str) -> bool:
    try:
        return normal_path(path) == path
    except FileRefused:
        return False


def _write_manifest(root: Path, owner_id: int, kept: Mapping[str, str]) -> None:
    told = {"owner": owner_id, "files": dict(sorted(kept.items()))}
    _write(root, MANIFEST, json.dumps(told, indent=2) + "\n")
