"""The self-check: one list of checks for the command, the page and the probe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chat.selfcheck import background, house, services, storage
from chat.selfcheck.findings import Check, Finding, in_thread, run_checks
from chat.wiring import search_names, secrets_in_use

__all__ = ["check_everything", "check_readiness"]

LOG = "The server's log has the details."


async def check_everything() -> list[Finding]:
    return await run_checks(everything(), secrets=secrets_in_use())


async def check_readiness() -> list[Finding]:
    """What a server needs before it can take requests: quick, and without a trace."""
    return await run_checks(readiness(), secrets=secrets_in_use())


def readiness() -> list[Check]:
    return [
        _blocking("Database", storage.database_answers, storage.DATABASE_FIX, seconds=3),
        _blocking("Migrations", storage.migrations, storage.DATABASE_FIX, seconds=3),
    ]


def everything() -> list[Check]:
    live_fix = background.REDIS_FIX
    return [
        _blocking("Settings", house.settings_together, "python manage.py check"),
        _blocking("Database", storage.database, storage.DATABASE_FIX),
        _blocking("Migrations", storage.migrations, storage.DATABASE_FIX),
        _blocking("Queue", background.broker, background.broker_fix()),
        _blocking("Worker", background.worker, background.WORKER_FIX, seconds=10),
        _blocking("Schedule", background.schedule, background.WORKER_FIX),
        _blocking("Index", background.index, storage.DATABASE_FIX),
        _blocking("Encoder", background.encoder, background.ENCODER_FIX, seconds=35),
        Check(subject="Live updates", ask=background.channel_layer, seconds=4, fix=live_fix),
        Check(subject="Model", ask=services.model, seconds=20, fix=services.MODEL_FIX),
        *_searches(),
        _blocking("Library", services.library, storage.DATABASE_FIX),
        _blocking("Clock", storage.clock, storage.DATABASE_FIX),
        _blocking("Disk", storage.disk, LOG),
        _blocking("Static files", house.static_files, house.COLLECT),
        _blocking("Secrets", house.secret_files, LOG),
        _blocking("Addresses", house.addresses, LOG),
    ]


def _searches() -> list[Check]:
    return [
        Check(
            subject=services.TITLES[name],
            ask=partial(services.search, name),
            seconds=10,
            fix="Try again later, or leave it out of LUMINA_SEARCH_PROVIDERS.",
        )
        for name in search_names()
    ]


def _blocking(subject: str, ask: Callable[[], Finding], fix: str, *, seconds: float = 5) -> Check:
    return Check(subject=subject, ask=partial(in_thread, ask), seconds=seconds, fix=fix)
