"""What the logs say of a whole turn: ids and counts, in web and worker, and not a word of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from celery.app.task import Context

from chat import tasks
from chat.database import in_database
from chat.library import ensure_sample_library
from chat.logs import JsonFormatter, request_id
from chat.models import User
from lumina import celery, settings
from tests.servers.model_script import call, fail, say
from tests.servers.search import Row, searxng_answer
from tests.servers.web import html_reply, web_server
from tests.web.test_checked_answers import FALSE, SEARCH, TRUE, writes

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "Does the zebrafish whisper?"
ANSWER = "The zebrafish is a xylophone [1]."
PAGE = "<html><body><article><p>Quokkas juggle marmalade on Tuesdays.</p></article></body></html>"
WORDS = ("zebrafish", "xylophone", "quokka", "marmalade", "whisper", "narwhal")


class Lines(logging.Handler):
    """What would be printed, whatever the level that an operator sets."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(JsonFormatter())
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def of(self, message: str) -> list[dict[str, Any]]:
        told = map(json.loads, self.lines)
        return [line for line in told if line["message"] == message]


@pytest.fixture
def logged() -> Iterator[Lines]:
    """All lines of all loggers at DEBUG, but for those that the settings keep quiet."""
    import lumina.asgi  # noqa: F401  (its first import sets logging up anew)

    lines, root = Lines(), logging.getLogger()
    before = root.level
    levels = {name: logging.getLogger(name).level for name in settings.LOGGING["loggers"]}
    for name, told in settings.LOGGING["loggers"].items():
        logging.getLogger(name).setLevel(told["level"] if name != "lumina" else logging.DEBUG)
    root.addHandler(lines)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(lines)
    root.setLevel(before)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


async def test_a_turn_is_one_line_of_counts_and_no_word_of_it_is_logged(
    alice: User, page_of: Callable[..., Any], model: Any, settings: Any, logged: Lines
) -> None:
    with web_server() as site:
        site.routes["/search"] = searxng_answer(
            [Row("Narwhal", f"{site.url}/p", "Quokkas juggle.")]
        )
        site.routes["/p"] = html_reply(PAGE)
        settings.LUMINA_WEB = True
        settings.LUMINA_SEARXNG_URL = site.url
        settings.LUMINA_SEARCH_PROVIDERS = ["searxng"]
        settings.LUMINA_FETCH_ALLOWED_HOSTS = [f"127.0.0.1:{site.port}"]
        model(
            [
                call("web_search", query="zebrafish whisper"),
                call("read_page", url=f"{site.url}/p"),
                say(ANSWER, pieces=5),
            ]
        )
        page = await page_of(alice)
        heard = await page.ask(QUESTION)
        assert heard[-1]["status"] == "complete"
        await page.close()
    [turn] = logged.of("turn")
    assert turn["status"] == "complete"
    assert (turn["steps"], turn["tools"], turn["failed_tools"], turn["owner"]) == (
        3,
        2,
        0,
        alice.pk,
    )
    assert 0 <= turn["first_text_seconds"] <= turn["seconds"]
    assert turn["completion_tokens"] > 0
    assert turn["request"]
    _no_word_in(logged)


async def test_a_turn_that_fails_inside_is_told_without_a_word_of_it(
    alice: User, page_of: Callable[..., Any], model: Any, logged: Lines, monkeypatch: Any
) -> None:
    model([say(ANSWER)])

    def broken(*args: Any, **kwargs: Any) -> None:
        raise ValueError(f"DETAIL: Failing row contains ({QUESTION}, {ANSWER})")

    monkeypatch.setattr("chat.runs.ending_of", broken)
    page = await page_of(alice)
    await page.send({"type": "ask", "text": QUESTION, "client_id": "c-1"})
    await page.until("text_added")
    from tests.web.conftest import until

    await until(lambda: logged.of("turn"))
    assert "builtins.ValueError" in logged.of("A run failed inside")[0]["fault"]
    _no_word_in(logged)


async def test_what_a_server_says_in_its_refusal_is_not_logged(
    alice: User, page_of: Callable[..., Any], model: Any, logged: Lines
) -> None:
    model([fail(400, {"error": {"message": f"cannot answer {QUESTION}"}})])
    page = await page_of(alice)
    assert (await page.ask(QUESTION))[-1]["status"] == "failed"
    assert logged.of("turn")[0]["status"] == "failed"
    _no_word_in(logged)


def _no_word_in(logged: Lines) -> None:
    for line in logged.lines:
        assert not [word for word in WORDS if word in line.casefold()], line


# --- The request's id ----------------------------------------------------------------------------


async def test_an_answer_carries_the_id_that_a_proxy_gave_or_a_new_one() -> None:
    from lumina.asgi import application

    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        given = await client.get("/healthz", headers={"X-Request-ID": "proxy-12345"})
        assert given.headers["x-request-id"] == "proxy-12345"
        ids = {(await client.get("/healthz")).headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3


def test_a_task_takes_the_request_along_that_it_was_asked_in() -> None:
    token = request_id.set("req-of-the-page")
    try:
        tasks.answer_check.apply_async(["x"])
    finally:
        request_id.reset(token)
    with celery.app.connection_for_read() as connection:
        queue = connection.SimpleQueue(celery.app.conf.task_default_queue)
        ids = set()
        with suppress(queue.Empty):
            while "req-of-the-page" not in ids:
                message = queue.get(timeout=2)
                ids.add(message.headers.get("request_id"))
                message.ack()
        queue.close()
    assert "req-of-the-page" in ids


def test_a_worker_sets_the_request_for_the_time_of_a_task() -> None:
    task = SimpleNamespace(name="a task", request=Context({"request_id": "req-of-the-page"}))
    celery.take_the_request_up(task=task)
    assert request_id.get() == "req-of-the-page"
    celery.leave_the_request(task=task)
    assert request_id.get() == ""
    task.request = Context({})
    celery.take_the_request_up(task=task)
    assert len(request_id.get()) == 16
    celery.leave_the_request(task=task)


async def test_the_line_of_a_turn_counts_what_was_mended_and_what_was_not(
    alice: User, page_of: Callable[..., Any], model: Any, settings: Any, logged: Lines
) -> None:
    settings.LUMINA_CHECK_ANSWERS = True
    await in_database(ensure_sample_library)()
    wrong = f"{FALSE} [n]\n\nIt has 997 seas [n]."
    model([SEARCH, writes(wrong), writes(f"{TRUE} [n]"), writes("It has 998 seas [n].")])
    page = await page_of(alice)
    await page.ask("How many moons does Saturn have?")
    await page.close()
    [turn] = logged.of("turn")
    assert (turn["mended"], turn["unsupported"]) == (1, 1)
