"""Every table as lines of JSON, and back, the same on SQLite and on PostgreSQL.

Left out: sessions, sign-in links and invitations, with which whoever finds a backup could come
in, the counts behind rates, and the worker's signs of life. Everything else goes along, also what
Django made itself (permissions and content types), because other rows point at its ids.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, JSONField, Model

LEFT_OUT = {
    "sessions.session",
    "chat.session",
    "chat.signinlink",
    "chat.invitation",
    "chat.ratecount",
    "chat.workersign",
}
BATCH = 500


def tables() -> list[type[Model]]:
    """The models that go along, in an order that is always the same."""
    models = apps.get_models(include_auto_created=True)
    kept = [one for one in models if one._meta.label_lower not in LEFT_OUT and one._meta.managed]
    return sorted((one for one in kept if not one._meta.proxy), key=lambda one: one._meta.label)


def applied_migrations() -> list[str]:
    return sorted(
        f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations()
    )


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads within see one moment, and hold up no writer."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")  # Django's own would lock out all writers
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


def lines_of(model: type[Model]) -> Iterator[str]:
    """A header with the columns, then each row, by id."""
    fields = _fields(model)
    yield json.dumps([field.column for field in fields])
    rows = model._base_manager.order_by("pk").values_list(*(field.attname for field in fields))
    for row in rows.iterator(chunk_size=BATCH):
        values = [_plain(field, value) for field, value in zip(fields, row, strict=True)]
        yield json.dumps(values, ensure_ascii=False)


def _fields(model: type[Model]) -> list[Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if not field.generated]


def _plain(field: Field[Any, Any], value: Any) -> Any:
    if value is None or isinstance(field, JSONField) or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def empty(models: Iterable[type[Model]]) -> None:
    """Within a transaction: which table points at which is looked at only at its end."""
    with connection.cursor() as cursor:
        for model in models:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")


def load(model: type[Model], lines: Iterator[str]) -> int:
    """Inserts the rows as they were, ids and times included; says how many there were.

    Raises ValueError when the columns are not those of the table, or a line is not a row.
    """
    fields = _fields(model)
    if json.loads(next(lines, "null")) != [field.column for field in fields]:
        raise ValueError(f"The columns of {model._meta.label} are others.")
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})"
    n_rows = 0
    with connection.cursor() as cursor:
        while rows := [_stored(fields, json.loads(line)) for line in islice(lines, BATCH)]:
            cursor.executemany(sql, rows)
            n_rows += len(rows)
    return n_rows


def _stored(fields: Sequence[Field[Any, Any]], values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError("A line is not a row.")
    return [
        field.get_db_prep_save(_python(field, value), connection)
        for field, value in zip(fields, values, strict=True)
    ]


def _python(field: Field[Any, Any], value: Any) -> Any:
    return value if value is None or isinstance(field, JSONField) else field.to_python(value)


def continue_counting(models: Sequence[type[Model]]) -> None:
    """New rows get ids after those that were inserted."""
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(sql)
