"""Looking for a text in everything that is kept: every table, known or not, and every file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection


def tables_with(text: str) -> set[str]:
    """The tables of the database that hold it anywhere, whatever the case of its letters."""
    wanted = text.casefold()
    return {table for table in _tables() if any(wanted in row for row in _rows(table))}


def _tables() -> list[str]:
    """All that there are: those of models, and those that no model knows."""
    found = connection.introspection.table_names(include_views=True)
    models = {one._meta.db_table for one in apps.get_models(include_auto_created=True)}
    assert models <= set(found)
    return found


def _rows(table: str) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
        for row in cursor.fetchall():
            yield "\n".join(_plain(value) for value in row).casefold()


def _plain(value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("utf-8", "replace")
    return str(value)


def files_with(text: str) -> set[str]:
    """The files that hold it: all under var/, and the database with its log put into it."""
    wanted = text.casefold().encode()
    return {str(path) for path in _files() if wanted in _bytes(path).lower()}


def _files() -> set[Path]:
    found = {path for path in Path(settings.VAR_DIR).rglob("*") if path.is_file()}
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy, _, _ = cursor.fetchone()
        assert not busy, "somebody reads, so the log could not be emptied"
        file = Path(connection.settings_dict["NAME"])
        found |= {part for part in (file, Path(f"{file}-wal")) if part.exists()}
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, PermissionError):
        return b""
