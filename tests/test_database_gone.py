"""PostgreSQL goes away and comes back: what people see meanwhile, and what is left afterwards."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import services
from tests.lumina_server import LuminaServer, Template
from tests.server_page import Page, opening_pages
from tests.servers.model_server import ModelServer
from tests.services import Server

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]

WORDS = [f"w{number} " for number in range(80)]
SOON_SECONDS = 15.0  # three to find out, the rest for a machine that is busy


@pytest.fixture
def postgres() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="lumina-gone-") as folder:
        Path(folder).chmod(0o711)  # PostgreSQL may run as another user
        server = services.postgres_server(Path(folder) / "postgres")
        server.start(services.postgres_answers)
        yield server
        server.stop()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def server(
    postgres: Server, model: ModelServer, tmp_path: Path, monkeypatch: Any
) -> Iterator[LuminaServer]:
    redis = services.redis_server(tmp_path / "redis")
    redis.start(services.redis_answers)
    monkeypatch.setenv("DATABASE_URL", services.postgres_url(postgres))
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{redis.port}/0")
    env = Template.make(tmp_path).env
    started = LuminaServer({**env, "LUMINA_MODEL_URL": model.url, "LUMINA_MODEL": "scripted"})
    started.start()
    yield started
    started.stop()
    redis.stop()


@pytest.fixture
def page_on() -> Iterator[Callable[[LuminaServer], Page]]:
    yield from opening_pages()


def text_in(events: list[dict[str, Any]]) -> str:
    puts = [put for event in events for put in event.get("puts", ())]
    return "".join(put[2] for put in puts if put[0] == "text")


def test_an_answer_waits_for_a_database_that_is_away_for_a_moment(
    server: LuminaServer, page_on: Any, model: ModelServer, postgres: Server
) -> None:
    model.play([{"text": WORDS, "every": 0.05}], [{"text": "After."}])
    client = server.client()
    page = page_on(server)
    page.send(type="ask", text="Count?", client_id="a")
    heard = page.until("text_added")
    postgres.stop()
    _the_page_says_so(client)
    postgres.start(services.postgres_answers)
    heard += page.until("run_finished", 60)
    assert heard[-1]["status"] == "complete"
    assert text_in(heard).split() == "".join(WORDS).split()
    assert client.get("/").status_code == 200
    assert client.get("/readyz").status_code == 200
    page.send(type="ask", text="And?", client_id="b", conversation=heard[0]["conversation"])
    assert page.until("run_finished", 60)[-1]["status"] == "complete"


def _the_page_says_so(client: httpx.Client) -> None:
    asked = time.monotonic()
    response = client.get("/")
    assert time.monotonic() - asked < SOON_SECONDS
    assert response.status_code == 503
    assert "The database does not answer" in response.text
    assert response.headers["Retry-After"] == "5"
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503


def test_an_answer_is_interrupted_when_the_database_stays_away(
    server: LuminaServer, page_on: Any, model: ModelServer, postgres: Server
) -> None:
    model.play([{"text": WORDS, "every": 0.05}], [{"text": "After."}])
    page = page_on(server)
    page.send(type="ask", text="Count?", client_id="a")
    heard = page.until("text_added")
    accepted = heard[0]
    postgres.stop()
    deadline = time.monotonic() + 120
    while "A run could not be ended" not in server.log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.2)
    postgres.start(services.postgres_answers)
    second = page_on(server)
    second.send(type="watch", conversation=accepted["conversation"], runs={str(accepted["run"]): 0})
    seen = second.until("run_finished", 60)
    assert seen[-1]["status"] == "interrupted"
    shown = text_in(seen).split()
    assert shown
    assert "".join(WORDS).split()[: len(shown)] == shown
    second.send(type="ask", text="Again?", client_id="b", conversation=accepted["conversation"])
    assert second.until("run_finished", 60)[-1]["status"] == "complete"
