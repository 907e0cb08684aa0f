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


def export_folder(owner_id: int, folder: Path) -> Report:
    """Writes every file. One that was edited in the folder since the last time is a conflict."""
    sides = _Sides(owner_id, _root(folder, make=True))
    for path, text in sides.here.items():
        _put_out(sides, path, text)
    for path in sides.agreed.keys() - sides.here.keys():
        _put_away(sides, path)
    sides.close()
    return sides.report


def import_folder(owner_id: int, folder: Path, author: str, *, delete: bool = False) -> Report:
    """Takes the folder's edits as revisions by `author`. With `delete`, files that are gone from
    the folder go from memory too."""
    sides = _Sides(owner_id, _root(folder, make=False))
    by = By(author=Revision.Author.IMPORT, name=author, reason="import")
    for path, there in _texts_under(sides.root, sides.report):
        _take_in(sides, path, there, by)
    for path in sides.agreed.keys() & sides.here.keys():
        if not os.path.lexists(sides.root / path):
            _take_away(sides, path, delete=delete)
    sides.close()
    return sides.report


class _Sides:
    """Memory and folder beside each other: `here` are the texts of memory by path, `agreed` what
    both had when they last were the same, as hashes; `kept` becomes the next manifest."""

    def __init__(self, owner_id: int, root: Path) -> None:
        self.owner_id = owner_id
        self.root = root
        self.here = store.texts_of(owner_id)
        self.agreed = _read_manifest(root, owner_id)
        self.kept = dict(self.agreed)
        self.report = Report()

    def agree(self, path: str, text: str) -> None:
        self.kept[path] = _hash(text)

    def conflict(self, path: str, here: str, there: str) -> None:
        names = f"{path} (in Lumina)", f"{path} (in the folder)"
        self.report.conflicts[path] = unified_diff(here, there, *names)

    def close(self) -> None:
        """What is on neither side any more needs no agreement."""
        told = {
            path: mark
            for path, mark in self.kept.items()
            if path in self.here or os.path.lexists(self.root / path)
        }
        _write_manifest(self.root, self.owner_id, told)


def _put_out(sides: _Sides, path: str, text: str) -> None:
    there = _text_in(sides.root, path, sides.report)
    if path in sides.report.passed_over:
        return
    if there is not None and _hash(there) not in (sides.agreed.get(path), _hash(text)):
        sides.conflict(path, text, there)
        return
    sides.agree(path, text)
    if there == text:
        sides.report.unchanged += 1
    else:
        _write(sides.root, path, text)
        sides.report.written.append(path)


def _put_away(sides: _Sides, path: str) -> None:
    """What is forgotten leaves the folder too, unless it was edited there."""
    there = _text_in(sides.root, path, sides.report)
    if there is not None and _hash(there) == sides.agreed[path]:
        (sides.root / path).unlink()
        sides.report.removed.append(path)
    elif there is not None:
        sides.conflict(path, "", there)


def _take_in(sides: _Sides, path: str, there: str, by: By) -> None:
    here, agreed = sides.here.get(path), sides.agreed.get(path)
    if here == there or (here is not None and _hash(there) == agreed):
        sides.report.unchanged += 1
        if here == there:
            sides.agree(path, there)
    elif here is None and agreed == _hash(there):
        sides.report.passed_over[path] = "was deleted in Lumina; export again to remove it here"
    elif (_hash(here) if here is not None else None) != agreed:
        sides.conflict(path, here or "", there)
    else:
        _save(sides, path, there, by)


def _save(sides: _Sides, path: str, there: str, by: By) -> None:
    try:
        save_by_hand(sides.owner_id, path, there, by, expected=sides.here.get(path, ""))
    except FileRefused as refused:
        sides.report.passed_over[path] = f"was not taken: {refused}"
        return
    sides.agree(path, there)
    sides.report.written.append(path)


def _take_away(sides: _Sides, path: str, *, delete: bool) -> None:
    """A file that is gone from the folder."""
    if _hash(sides.here[path]) != sides.agreed[path]:
        sides.conflict(path, sides.here[path], "")
    elif delete:
        store.remove_file(sides.owner_id, path)
        del sides.here[path]
        sides.report.removed.append(path)
    else:
        sides.report.passed_over[path] = "is gone from the folder; --delete deletes it here too"


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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
