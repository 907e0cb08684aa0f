"""Database, migrations, clock and disk. All of it blocks: each check runs in a thread."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from chat.selfcheck.findings import Finding, failure, ok, warning

MIGRATE = "python manage.py migrate"
DATABASE_FIX = "Start the database server, or correct DATABASE_URL."
CLOCK_FIX = "Keep both machines' clocks in step, for example with systemd-timesyncd or chrony."
CONNECT_SECONDS = 3
# A run without a heartbeat for 8 seconds counts as dead, so clocks must agree better than that.
CLOCK_WARNING = timedelta(seconds=2)
CLOCK_FAILURE = timedelta(seconds=8)
DISK_WARNING_BYTES = 1_000_000_000
DISK_FAILURE_BYTES = 100_000_000


def database_answers() -> Finding:
    """For everybody's eyes: what the database's own words would tell of the network stays out."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return failure("The database does not answer.", DATABASE_FIX)
    return ok("The database answers.")


def database() -> Finding:
    try:
        _connect_past_the_pool()
        name = _name_and_version()
        _write_nothing()
        if connection.vendor == "sqlite" and (mode := _journal_mode()) != "wal":
            return warning(
                f"{name} answers, but works without its write-ahead log ({mode}): readers wait "
                "for writers.",
                "Move LUMINA_VAR to a local disk: network folders do not support WAL.",
            )
    except DatabaseError as error:
        return _database_fault(error)
    return ok(f"{name} answers and can be written to.")


def _connect_past_the_pool() -> None:
    """The pool only says that it waited in vain; a connection of its own says why."""
    if connection.vendor == "postgresql":
        server: Any = connection
        parameters = {**server.get_connection_params(), "connect_timeout": CONNECT_SECONDS}
        with server.wrap_database_errors:
            server.Database.connect(**parameters).close()


def _name_and_version() -> str:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT sqlite_version()")
            return f"SQLite {cursor.fetchone()[0]} with WAL"
        cursor.execute("SHOW server_version")
        return f"PostgreSQL {cursor.fetchone()[0]}"


def _write_nothing() -> None:
    """An update of no row: refused where the database is read-only, and leaves no trace."""
    if MigrationRecorder(connection).has_table():
        MigrationRecorder.Migration.objects.filter(pk=-1).update(app="")


def _journal_mode() -> str:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        return str(cursor.fetchone()[0])


def _database_fault(error: DatabaseError) -> Finding:
    said = str(error).strip().splitlines() or [type(error).__name__]
    readonly = "read-only" in said[0] or "readonly" in said[0]
    fix = "Give the user that runs Lumina the right to write to it." if readonly else DATABASE_FIX
    return failure(f"The database cannot be used: {said[0]}", fix)


def migrations() -> Finding:
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError:
        return failure("Nobody can tell while the database does not answer.", DATABASE_FIX)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if pending:
        names = ", ".join(f"{one.app_label} {one.name}" for one, _ in pending[:5])
        more = f" and {len(pending) - 5} more" if len(pending) > 5 else ""
        return failure(f"The database lacks changes of this version: {names}{more}.", MIGRATE)
    return ok("The database is up to date.")


def clock() -> Finding:
    if connection.vendor == "sqlite":
        return ok("The database runs on this machine's clock.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        theirs = cursor.fetchone()[0]
    return clock_finding(theirs - timezone.now())


def clock_finding(ahead: timedelta) -> Finding:
    """`ahead` is by how much the database's clock is ahead of ours; less than zero: behind."""
    off, seconds = abs(ahead), abs(ahead).total_seconds()
    if off < CLOCK_WARNING:
        return ok("This machine and the database agree on the time.")
    direction = "ahead" if ahead > timedelta(0) else "behind"
    sentence = f"The database's clock is {seconds:.0f} seconds {direction}."
    level = failure if off >= CLOCK_FAILURE else warning
    return level(sentence, CLOCK_FIX)


def disk() -> Finding:
    return disk_finding(settings.VAR_DIR, shutil.disk_usage(settings.VAR_DIR).free)


def disk_finding(folder: Path, free_bytes: int) -> Finding:
    sentence = f"{free_bytes / 1e9:.1f} GB are free for {folder}."
    fix = f"Make room on that disk, or move LUMINA_VAR ({folder}) to another one."
    if free_bytes < DISK_FAILURE_BYTES:
        return failure(sentence, fix)
    return warning(sentence, fix) if free_bytes < DISK_WARNING_BYTES else ok(sentence)
