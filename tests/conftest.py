"""What all tests share: no network, a database like the real one, real servers on demand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings
from django.db import connections

from tests import lumina_server as servers
from tests.loopback import Guard

# The same examples each time, so that a failure is one of the change at hand. New ones are looked
# for on purpose: HYPOTHESIS_PROFILE=explore scripts/test.
hypothesis.settings.register_profile("quick", max_examples=60, deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", max_examples=500, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

GUARD = Guard()
END_OTHER_SESSIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def pytest_configure() -> None:
    GUARD.install()
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # WhiteNoise warns without it


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After the shuffle: quick tests first, and the browser's last.

    Playwright keeps an event loop running on the main thread, in which no other asyncio test can
    start one.
    """
    items.sort(
        key=lambda item: [item.get_closest_marker(m) is not None for m in ("browser", "processes")]
    )


@pytest.fixture(autouse=True)
def _stays_on_this_machine():
    yield
    attempts, GUARD.attempts[:] = GUARD.attempts[:], []
    if attempts:
        pytest.fail("\n".join(attempts))


@pytest.fixture
def loopback_guard() -> Guard:
    return GUARD


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """SQLite tests run on a file, as Lumina does: one in memory locks by other rules."""
    for connection in connections.all(initialized_only=False):
        if connection.vendor == "sqlite":
            file = tmp_path_factory.mktemp("database") / "test.sqlite3"
            connection.settings_dict["TEST"]["NAME"] = str(file)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> Iterator[None]:
    """PostgreSQL drops no database that somebody is connected to, such as a worker thread."""
    yield
    with django_db_blocker.unblock():
        for connection in connections.all():
            if connection.vendor == "postgresql":
                connection.cursor().execute(END_OTHER_SESSIONS)


@pytest.fixture(scope="session")
def server_template(tmp_path_factory: pytest.TempPathFactory) -> servers.Template:
    return servers.Template.make(tmp_path_factory.mktemp("lumina"))


@pytest.fixture
def lumina_server(server_template: servers.Template, tmp_path):
    """Starts real server processes: `server = lumina_server(LUMINA_MAX_STEPS="2")`."""
    yield from servers.running(server_template, tmp_path)
