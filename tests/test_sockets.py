"""What holds for a page's socket whichever server carries it: uvicorn or Daphne."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests import lumina_server as servers
from tests.lumina_server import PROGRAMS, LuminaServer
from tests.server_page import Page, opening_pages, socket_to
from tests.servers.model_script import call, say
from tests.servers.model_server import ModelServer

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]

SIGNED_OUT = 4401
PIECES = [f"w{number} " for number in range(100)]
WORDS = "".join(PIECES)


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module", params=sorted(PROGRAMS))
def server(
    request: Any, server_template: Any, tmp_path_factory: Any, model: ModelServer
) -> Iterator[LuminaServer]:
    started = servers.running(server_template, tmp_path_factory.mktemp(request.param))
    start = next(started)
    yield start(request.param, LUMINA_MODEL_URL=model.url, LUMINA_MODEL="scripted")
    next(started, None)


@pytest.fixture
def page_on() -> Iterator[Callable[[LuminaServer], Page]]:
    yield from opening_pages()


@pytest.fixture
def page(server: LuminaServer, page_on: Any) -> Page:
    return page_on(server)


def client_id() -> str:
    return f"c-{time.monotonic_ns()}"


def asked(page: Page, text: str = "Why does ice float?", **more: Any) -> list[dict[str, Any]]:
    page.send(type="ask", text=text, client_id=client_id(), **more)
    return page.until("run_finished")


def text_in(events: list[dict[str, Any]]) -> str:
    puts = [put for event in events for put in event.get("puts", ())]
    return "".join(put[2] for put in puts if put[0] == "text")


def seqs_in(events: list[dict[str, Any]]) -> list[int]:
    return [event["seq"] for event in events if "puts" in event]


def test_a_question_is_accepted_shown_and_streamed(page: Page, model: ModelServer) -> None:
    model.play([{"text": PIECES, "every": 0.005}])
    heard = asked(page)
    assert [message["type"] for message in heard[:2]] == ["accepted", "turn"]
    assert heard[-1]["status"] == "complete"
    assert seqs_in(heard) == list(range(heard[1]["seq"] + 1, heard[-1]["seq"] + 1))
    shown = heard[1]["html"] + text_in(heard)
    assert all(word in shown for word in WORDS.split())


def test_the_first_word_does_not_wait_for_the_last(page: Page, model: ModelServer) -> None:
    model.play([{"text": "First "}, {"pause": 1.5}, {"text": "last."}])
    page.send(type="ask", text="Why?", client_id=client_id())
    page.until("text_added")
    first = time.monotonic()
    page.until("run_finished")
    assert time.monotonic() - first > 1


def test_sources_and_steps_travel_with_the_answer(page: Page, model: ModelServer) -> None:
    model.play(call("search_library", query="ice"), say("It is lighter [1]."))
    heard = asked(page)
    assert {"step_started", "source_found", "citation_added"} <= {one["type"] for one in heard}


def test_another_page_catches_up_from_any_seq(
    server: LuminaServer, page: Page, page_on: Any, model: ModelServer
) -> None:
    model.play([{"text": PIECES, "every": 0.005}])
    heard = asked(page)
    accepted, last = heard[0], heard[-1]["seq"]
    second = page_on(server)
    for seq in (0, 1, last // 2, last - 1):
        watched = {str(accepted["run"]): seq}
        second.send(
            type="watch",
            conversation=accepted["conversation"],
            runs=watched,
            newest=accepted["run"],
        )
        assert seqs_in(second.until("run_finished")) == list(range(seq + 1, last + 1))


def test_an_answer_goes_on_without_its_page(
    server: LuminaServer, page: Page, page_on: Any, model: ModelServer
) -> None:
    model.play([{"text": PIECES, "every": 0.01}])
    page.send(type="ask", text="Why?", client_id=client_id())
    accepted = page.until("accepted")[-1]
    page.socket.close()
    second = page_on(server)
    second.send(type="watch", conversation=accepted["conversation"], runs={str(accepted["run"]): 0})
    heard = second.until("run_finished")
    assert heard[-1]["status"] == "complete"
    assert text_in(heard).split() == WORDS.split()


def test_stop_closes_the_request_to_the_model(page: Page, model: ModelServer) -> None:
    model.play([{"text": "Half "}, {"hang": True}])
    page.send(type="ask", text="Why?", client_id=client_id())
    run = page.until("text_added")[0]["run"]
    pressed = time.monotonic()
    page.send(type="stop", run=run)
    assert page.until("run_finished")[-1]["status"] == "stopped"
    left = model.requests[-1].wait_until_ended()
    assert left is not None
    assert left - pressed < 1


def test_the_same_question_twice_is_one(page: Page, model: ModelServer) -> None:
    model.play(say("One."))
    page.send(type="ask", text="Why?", client_id="twice")
    run = page.until("run_finished")[0]["run"]
    page.send(type="ask", text="Why?", client_id="twice")
    assert page.until("accepted")[-1]["run"] == run


@pytest.mark.parametrize(
    "frame",
    ["", "not json", "[" * 5_000, "null", '{"type": 3}', b"\x00\xff", b"", "x" * 900_000],
    ids=["empty", "words", "brackets", "null", "type", "bytes", "no bytes", "long"],
)
def test_a_bad_frame_gets_a_sentence_and_the_socket_goes_on(
    page: Page, model: ModelServer, frame: str | bytes
) -> None:
    model.play(say("Fine."))
    page.socket.send(frame)
    assert page.hear()["type"] == "refused"
    assert asked(page)[-1]["status"] == "complete"


def test_text_in_every_script_arrives_as_it_is(page: Page, model: ModelServer) -> None:
    text = "Лёд плавает 冰浮 ثلج 💧 — ß"
    model.play(say(f"{text} end", pieces=9))
    heard = asked(page, f"{text}?")
    assert f"{text}?" in json.dumps(heard, ensure_ascii=False)
    assert text in text_in(heard) or text in heard[1]["html"]


def test_a_stranger_is_closed_out(server: LuminaServer) -> None:
    with socket_to(server) as socket, pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == SIGNED_OUT


def test_a_page_of_another_origin_is_not_let_in(server: LuminaServer) -> None:
    with pytest.raises(InvalidStatus) as refused:
        socket_to(server, origin="https://evil.example")
    assert refused.value.response.status_code == 403


def test_many_pages_ask_at_once_and_each_gets_its_own_answer(
    server: LuminaServer, page_on: Any, model: ModelServer
) -> None:
    def reply(body: Any) -> list[dict[str, Any]]:
        number = body["messages"][-1]["content"].split("number-")[1].split("?")[0]
        return [{"text": [f"answer-{number} "] * 20, "every": 0.02}]

    model.play({"when": "number-", "reply": reply})
    pages = [page_on(server) for _ in range(8)]
    for number, page in enumerate(pages):
        page.send(type="ask", text=f"number-{number}?", client_id=client_id())
    for number, page in enumerate(pages):
        heard = page.until("run_finished")
        assert set(text_in(heard).split()) <= {f"answer-{number}"}
        assert heard[-1]["status"] == "complete"
