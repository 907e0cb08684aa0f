"""Several server processes over one store, with Redis between them, there or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lumina_server import LuminaServer
from tests.server_page import Page, opening_pages
from tests.servers.model_server import ModelServer
from tests.services import Server, redis_answers, redis_server

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

IDLE_SECONDS = 6.5
PROMPT_SECONDS = 2.0  # the look that needs no nudge comes every 5 seconds


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Server]:
    server = redis_server(tmp_path / "redis")
    server.start(redis_answers)
    yield server
    server.stop()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def page_on() -> Iterator[Callable[[LuminaServer], Page]]:
    yield from opening_pages()


@pytest.fixture
def two_servers(
    lumina_server: Any, model: ModelServer, redis: Server
) -> Iterator[tuple[LuminaServer, LuminaServer]]:
    first = lumina_server(
        LUMINA_MODEL_URL=model.url,
        LUMINA_MODEL="scripted",
        REDIS_URL=f"redis://127.0.0.1:{redis.port}/0",
    )
    second = LuminaServer(first.env)
    second.log = first.var / "second.log"
    second.start()
    yield first, second
    second.stop()


SLOWLY = [{"text": ["word "] * 40, "every": 0.05}]


def test_a_run_of_one_process_is_watched_and_stopped_from_another(
    two_servers: Any, model: ModelServer, page_on: Any
) -> None:
    first, second = map(page_on, two_servers)
    model.play(SLOWLY, [{"text": "Half"}, {"hang": True}])
    first.send(type="ask", text="Count?", client_id="a")
    accepted = first.until("accepted")[-1]
    second.send(type="watch", conversation=accepted["conversation"], runs={str(accepted["run"]): 0})
    events = second.until("run_finished")
    seqs = [event["seq"] for event in events if "puts" in event]
    assert seqs == list(range(1, seqs[-1] + 1))
    assert len(seqs) > 5
    first.until("run_finished")
    first.send(type="ask", text="And?", client_id="b", conversation=accepted["conversation"])
    turn = second.until("turn")[-1]
    pressed = time.monotonic()
    second.send(type="stop", run=turn["run"])
    assert second.until("run_finished")[-1]["status"] == "stopped"
    assert time.monotonic() - pressed < 2
    assert first.until("run_finished")[-1]["status"] == "stopped"


def test_a_page_that_is_idle_for_long_stays_open(
    two_servers: Any, model: ModelServer, page_on: Any
) -> None:
    first, second = map(page_on, two_servers)
    model.play([{"text": "One."}], [{"text": "Two."}])
    first.send(type="ask", text="One?", client_id="a")
    conversation = first.until("run_finished")[0]["conversation"]
    second.send(type="watch", conversation=conversation, newest=0)
    second.until("turn")
    time.sleep(IDLE_SECONDS)
    first.send(type="ask", text="Two?", client_id="b", conversation=conversation)
    asked = time.monotonic()
    assert "Two?" in second.until("turn")[-1]["html"]
    assert time.monotonic() - asked < PROMPT_SECONDS


def test_answers_go_on_without_redis_and_are_prompt_again_when_it_is_back(
    two_servers: Any, model: ModelServer, page_on: Any, redis: Server
) -> None:
    first, second = map(page_on, two_servers)
    model.play(SLOWLY, [{"text": "Without."}], [{"text": "Back."}])
    first.send(type="ask", text="One?", client_id="a")
    accepted = first.until("accepted")[-1]
    conversation = accepted["conversation"]
    second.send(type="watch", conversation=conversation, runs={str(accepted["run"]): 0})
    first.until("text_added")
    redis.stop()
    assert first.until("run_finished")[-1]["status"] == "complete"
    assert second.until("run_finished")[-1]["status"] == "complete"
    first.send(type="ask", text="Two?", client_id="b", conversation=conversation)
    assert first.until("run_finished")[-1]["status"] == "complete"
    assert "Two?" in second.until("turn")[-1]["html"]
    third = page_on(two_servers[1])
    third.send(type="watch", conversation=conversation, newest=0)
    assert "One?" in third.until("turn")[-1]["html"]
    redis.start(redis_answers)
    time.sleep(IDLE_SECONDS)
    first.send(type="ask", text="Three?", client_id="c", conversation=conversation)
    asked = time.monotonic()
    assert "Three?" in second.until("turn")[-1]["html"]
    assert time.monotonic() - asked < PROMPT_SECONDS
