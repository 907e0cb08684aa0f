"""The file of a backup: a zip with a manifest and one list of rows for each table.

Version 1: `manifest.json` ({format, version, made_at, migrations, tables: {label: rows}}),
`tables/LABEL.jsonl`, and `secret_key` if it was asked for. The zip's checksums tell damage.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

FORMAT = "lumina-backup"
VERSION = 1
MANIFEST = "manifest.json"
SECRET_KEY = "secret_key"


class BackupError(Exception):
    """The file cannot be written or used; the text says why and what helps."""


class Damaged(BackupError):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    made_at: str
    migrations: Sequence[str]
    tables: Mapping[str, int]
    format: str = FORMAT
    version: int = VERSION


class Writer:
    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._tables: dict[str, int] = {}

    def add_table(self, label: str, lines: Iterable[str]) -> None:
        """`lines` begin with a header, which is no row."""
        n_lines = 0
        with (
            self._archive.open(_table(label), "w", force_zip64=True) as raw,
            TextIOWrapper(raw, encoding="utf-8", newline="\n") as text,
        ):
            for line in lines:
                text.write(line + "\n")
                n_lines += 1
        self._tables[label] = n_lines - 1

    def add_secret_key(self, key: str) -> None:
        self._archive.writestr(SECRET_KEY, key)

    def finish(self, made_at: str, migrations: Sequence[str]) -> Manifest:
        manifest = Manifest(made_at=made_at, migrations=migrations, tables=self._tables)
        self._archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=1))
        return manifest


@contextmanager
def written(path: Path, *, overwrite: bool) -> Iterator[Writer]:
    """A new file that only its owner can read; it takes its name once it is whole."""
    if path.exists() and not overwrite:
        raise BackupError(f"{path} exists already. Choose another name, or add --force.")
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
            yield Writer(archive)
        with part.open("rb") as whole:
            os.fsync(whole.fileno())
        part.replace(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


class Reader:
    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self.manifest = _manifest(archive)

    @property
    def secret_key(self) -> str:
        """Empty if it was not backed up."""
        if SECRET_KEY not in self._archive.namelist():
            return ""
        return self._archive.read(SECRET_KEY).decode()

    def lines(self, label: str) -> Generator[str, None, None]:
        with self._archive.open(_table(label)) as raw:
            yield from TextIOWrapper(raw, encoding="utf-8", newline="\n")


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    """Read to its end once before anything is done with it. Raises BackupError."""
    try:
        with ZipFile(path) as archive:
            if damaged := archive.testzip():
                raise Damaged(f"{path} is damaged, in {damaged}. Use another backup.")
            yield Reader(archive)
    except (BadZipFile, zlib.error, EOFError, UnicodeDecodeError, KeyError) as error:
        raise Damaged(f"{path} is damaged, or is no backup of Lumina. Use another one.") from error
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror or error}.") from error


def _table(label: str) -> str:
    return f"tables/{label}.jsonl"


def _manifest(archive: ZipFile) -> Manifest:
    """Raises BackupError with the reason why this is nothing to restore."""
    try:
        told: Any = json.loads(archive.read(MANIFEST))
        is_ours = told["format"] == FORMAT
        version = told["version"]
    except (KeyError, TypeError, ValueError) as error:
        raise Damaged("This file is no backup of Lumina.") from error
    if not is_ours:
        raise Damaged("This file is no backup of Lumina.")
    if version != VERSION:
        raise BackupError(
            f"This backup has format {version}; this version of Lumina reads format {VERSION}. "
            "Restore it with the version that made it."
        )
    try:
        return Manifest(**told)
    except TypeError as error:
        raise Damaged("The backup's manifest is not whole.") from error
