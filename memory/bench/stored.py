"""Histories in a database of their own: what recall costs there, and that it packs the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet
from django.utils import timezone

from memory.engine.values import Message
from memory.ports import ReadMessage


@contextmanager
def database_of_its_own() -> Iterator[None]:
    """An empty database beside the configured one, on the same server, for as long as it lasts."""
    with tempfile.TemporaryDirectory(prefix="lumina-bench-") as folder:
        if connection.vendor == "sqlite":
            connection.settings_dict["TEST"]["NAME"] = str(Path(folder) / "bench.sqlite3")
        before = connection.settings_dict["NAME"]
        connection.creation.create_test_db(verbosity=0, autoclobber=True)
        try:
            yield
        finally:
            _close_pool()
            connection.creation.destroy_test_db(before, verbosity=0)


def _close_pool() -> None:
    connection.close()
    close = getattr(connection, "close_pool", None)
    if close:
        close()


# --- What is read of a database ------------------------------------------------------------------


@dataclass(slots=True)
class Reads:
    """`n_bytes`: texts and bytes by their length, numbers and dates as eight."""

    n_queries: int = 0
    n_bytes: int = 0

    def take(self, rows: Sequence[Sequence[Any]]) -> None:
        self.n_bytes += sum(
            len(value) if isinstance(value, str | bytes | memoryview) else 8
            for row in rows
            for value in row
        )


class _Counting(CursorWrapper):
    reads: Reads

    def fetchone(self) -> Any:
        row = self.cursor.fetchone()
        self.reads.take([row] if row else [])
        return row

    def fetchmany(self, *args: Any) -> Any:
        rows = self.cursor.fetchmany(*args)
        self.reads.take(rows)
        return rows

    def fetchall(self) -> Any:
        rows = self.cursor.fetchall()
        self.reads.take(rows)
        return rows


@contextmanager
def counted() -> Iterator[Reads]:
    """Counts the queries of a block and the bytes that they brought."""
    reads = Reads()

    def count(execute: Callable[..., Any], *args: Any) -> Any:
        reads.n_queries += 1
        return execute(*args)

    def make(cursor: Any) -> CursorWrapper:
        wrapped = _Counting(cursor, connection)
        wrapped.reads = reads
        return wrapped

    before = connection.make_cursor
    connection.make_cursor = make  # type: ignore[method-assign]
    try:
        with connection.execute_wrapper(count):
            yield reads
    finally:
        connection.make_cursor = before  # type: ignore[method-assign]


# --- Messages of the engine as stored ones -------------------------------------------------------


class PlainMessages:
    """A `MessageReader` over messages of the engine: each is the content of one stored message."""

    def __init__(self) -> None:
        self.rows: Any = apps.get_model("chat", "Message")._default_manager
        self.conversations: Any = apps.get_model("chat", "Conversation")._default_manager
        self.parts: dict[int, Message] = {}

    def owner(self) -> Any:
        return get_user_model().objects.create_user(f"bench {timezone.now():%H%M%S%f}")

    def conversation(self, owner: Any) -> Any:
        return self.conversations.create(owner=owner)

    def put(
        self, conversation: Any, messages: Sequence[Message], parent: Any = None
    ) -> tuple[list[Message], Any]:
        """Append to a path. Returns the messages as they are known now, and the last row."""
        told = []
        for message in messages:
            parent = self.rows.create(
                conversation=conversation,
                parent=parent,
                role="user",
                text="x",
                created_at=message.at or timezone.now(),
            )
            self.parts[parent.pk] = replace(message, id=f"m{parent.pk}")
            told.append(self.parts[parent.pk])
        return told, parent

    def read(self, message_ids: Collection[int]) -> list[ReadMessage]:
        rows = self.rows.filter(pk__in=message_ids).select_related("conversation")
        return [
            ReadMessage(
                row.pk,
                row.conversation.owner_id,
                row.conversation_id,
                row.parent_id,
                (self.parts[row.pk],),
            )
            for row in rows
        ]

    def read_parts(self, keys: Collection[str]) -> list[Message]:
        return [self.parts[int(key[1:])] for key in keys]

    def path(self, conversation_id: int, head_id: int) -> list[int]:
        rows = self.rows.filter(conversation_id=conversation_id)
        parents = dict(rows.values_list("pk", "parent_id"))
        path: list[int] = []
        at: int | None = head_id
        while at is not None:
            path.append(at)
            at = parents[at]
        return path[::-1]

    def pending(
        self, indexed: QuerySet[Any], limit: int, *, owner_id: int | None = None
    ) -> list[int]:
        rows = self.rows.exclude(pk__in=indexed).order_by("pk")
        if owner_id is not None:
            rows = rows.filter(conversation__owner_id=owner_id)
        return list(rows.values_list("pk", flat=True)[:limit])

    def leaves(self, conversation_id: int) -> list[int]:
        rows = self.rows.filter(conversation_id=conversation_id, children=None)
        return list(rows.order_by("pk").values_list("pk", flat=True))
