"""What the adapter for OpenAI-compatible servers does when something fails or nobody listens."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from chat.agent.errors import (
    ContextTooLong,
    ModelBusy,
    ModelGarbled,
    ModelRefused,
    ModelUnavailable,
)
from chat.agent.ports import ModelEvent, TextDelta
from tests.contract.openai_model import QUESTION, SEARCH, ask, events_of, failure_of, model_of
from tests.servers.model_server import ModelServer, fail, say


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


# --- One more try -------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [fail(503, "loading"), [{"cut": True}]])
async def test_passing_trouble_is_tried_once_more(server: ModelServer, trouble):
    events = await ask(server, trouble, say("ok"))
    assert events[0] == TextDelta("ok")


@pytest.mark.parametrize("trouble", [fail(503, "loading"), [{"cut": True}]])
async def test_lasting_trouble_is_tried_once_more_and_then_told(server: ModelServer, trouble):
    error = await failure_of(server, trouble, trouble, say("too late"))
    assert isinstance(error, ModelUnavailable)
    assert len(server.bodies) == 2


async def test_nothing_is_asked_again_once_something_came(server: ModelServer):
    error = await failure_of(server, [{"text": "Ice"}, {"cut": True}], say("again"))
    assert isinstance(error, ModelUnavailable)
    assert "in the middle of the answer" in str(error)
    assert len(server.bodies) == 1


@pytest.mark.parametrize("trouble", [fail(500, "x"), fail(429, "x"), fail(401, "x")])
async def test_other_trouble_is_told_at_once(server: ModelServer, trouble):
    await failure_of(server, trouble, say("again"))
    assert len([r for r in server.requests if r.body]) == 1


# --- Failures and their words -------------------------------------------------------------------


def openai_error(message: str, code: object = None, **rest: object) -> dict:
    return {"error": {"message": message, "code": code, **rest}}


TOO_LONG = [
    fail(400, openai_error("…reduce the length of the messages.", "context_length_exceeded")),
    fail(400, openai_error("too big", 400, type="exceed_context_size_error")),
    fail(400, openai_error("This model's maximum context length is 4096 tokens. However, …")),
    fail(400, {"object": "error", "message": "This model's maximum context length is 4096"}),
    fail(400, {"error": "Trying to keep the first 5000 tokens when context the overflows."}),
    fail(422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"}),
    fail(400, openai_error("prompt is too long: 210000 tokens > 200000 maximum")),
    fail(400, [openai_error("The input token count (9) exceeds the maximum number of tokens")]),
    fail(400, openai_error("Requested tokens (5000) exceed context window of 2048")),
    fail(400, openai_error("This model's maximum prompt length is 131072 but …")),
    fail(413, "<html>Payload Too Large</html>"),
    [{"error": {"message": "the request exceeds the available context size", "code": 400}}],
    [{"text": "Ice"}, {"error": {"message": "context window exceeded"}}],
]


@pytest.mark.parametrize("reply", TOO_LONG)
async def test_a_prompt_that_is_too_long_is_recognised(server: ModelServer, reply):
    assert isinstance(await failure_of(server, reply), ContextTooLong)


FAILURES = [
    (fail(401, openai_error("no")), ModelRefused, "Set LUMINA_MODEL_KEY"),
    (fail(403, openai_error("Region not allowed")), ModelRefused, "asks for a key"),
    (fail(429, openai_error("Slow down")), ModelBusy, "It says: Slow down"),
    (fail(429, openai_error("Quota", "insufficient_quota")), ModelBusy, "no credit left"),
    (fail(402, openai_error("Pay")), ModelBusy, "no credit left"),
    (fail(500, "<html><h1>Oops</h1></html>"), ModelUnavailable, "in trouble (status 500)."),
    (fail(502, ""), ModelUnavailable, "(status 502)"),
    (fail(400, openai_error("bad temperature")), ModelRefused, "It says: bad temperature"),
    (fail(418, {"detail": "teapot"}), ModelRefused, "It says: teapot"),
    ([{"status": 200, "body": "<html>Sign in</html>"}], ModelGarbled, "text/html"),
    ([{"status": 200, "body": {"choices": []}}], ModelGarbled, "application/json"),
    ([{"status": 200, "body": openai_error("No memory")}], ModelUnavailable, "No memory"),
    ([{"raw": "data: {oops\n\n"}], ModelGarbled, "not a model's answer"),
    ([{"raw": "data: " + "[" * 20_000 + "\n\n"}], ModelGarbled, "not a model's answer"),
    ([{"raw": "data: \udcff\n\n"}], ModelGarbled, "not a model's answer"),
    ([{"text": "Ice"}, {"raw": "data: }\n\n"}], ModelGarbled, "not a model's answer"),
    ([{"raw": "<p>hello</p>\n\n"}, {"end": True}], ModelGarbled, "without an answer"),
    ([{"end": True}], ModelGarbled, "without an answer"),
    ([{"error": {"message": "GPU lost", "code": 500}}], ModelUnavailable, "GPU lost"),
    ([{"text": "Ice"}, {"error": "GPU lost"}], ModelUnavailable, "GPU lost"),
    ([{"error": {"message": "x", "type": "rate_limit_exceeded"}}], ModelBusy, "no more requests"),
    ([{"chunk": {"object": "error", "message": "lost", "code": 500}}], ModelUnavailable, "lost"),
]


@pytest.mark.parametrize(("reply", "kind", "words"), FAILURES)
async def test_a_failure_is_told_in_words_to_act_on(server: ModelServer, reply, kind, words):
    error = await failure_of(server, reply)
    assert type(error) is kind
    assert words in str(error)


async def test_a_wrong_key_is_named_as_such_and_never_repeated():
    with ModelServer(key="right") as server:
        error = await failure_of(server, api_key="wrong-key")
        assert isinstance(error, ModelRefused)
        assert "Check LUMINA_MODEL_KEY" in str(error)
    with ModelServer() as server:
        error = await failure_of(server, fail(400, "bad key wrong-key"), api_key="wrong-key")
        assert "wrong-key" not in str(error)


async def test_a_key_that_cannot_be_sent_is_named(server: ModelServer):
    assert "key" in str(await failure_of(server, api_key="schlüssel"))


async def test_an_unknown_model_is_answered_with_what_the_server_offers():
    names = ["small", "large"]
    with ModelServer(models=names, strict=True) as server:
        error = await failure_of(server, model="huge")
        assert isinstance(error, ModelRefused)
        assert "'huge'" in str(error)
        assert "It offers small, large." in str(error)


async def test_a_wrong_path_is_told_from_an_unknown_model(server: ModelServer):
    async with model_of(server.url.removesuffix("/v1")) as model:
        with pytest.raises(ModelRefused, match="usually ends in /v1"):
            await events_of(model)


async def test_a_server_that_is_down_is_named_by_its_address_without_its_password():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with model_of(f"http://me:secret@127.0.0.1:{port}/v1") as model:
        with pytest.raises(ModelUnavailable) as caught:
            await events_of(model)
    assert f"No model server answers at http://127.0.0.1:{port}/v1." in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_name_without_an_address_is_told():
    def unresolved(request: httpx2.Request) -> httpx2.Response:
        reason = socket.gaierror(-2, "Name or service not known")
        raise httpx2.ConnectError(str(reason), request=request) from reason

    async with (
        httpx2.AsyncClient(transport=httpx2.MockTransport(unresolved)) as http,
        model_of("http://nowhere.example/v1", http_client=http) as model,
    ):
        with pytest.raises(ModelUnavailable, match=r"No address is known for nowhere\.example"):
            await events_of(model)


@pytest.mark.parametrize("before", [[], [{"text": "Ice"}]])
async def test_silence_is_told_after_the_timeout(server: ModelServer, before):
    error = await failure_of(server, [*before, {"hang": True}], timeout_seconds=0.2)
    assert isinstance(error, ModelUnavailable)
    assert "said nothing for 0.2 seconds" in str(error)
    assert len(server.bodies) == 1


async def test_a_long_message_of_the_server_is_shortened(server: ModelServer):
    error = await failure_of(server, fail(400, openai_error("word " * 1000)))
    assert len(str(error)) < 500


# --- Leaving ------------------------------------------------------------------------------------

HANGING = {
    "before the first byte": [{"hang": True}],
    "before the first event": [{"headers": {}}, {"hang": True}],
    "while reasoning": [{"reasoning": ["hm "] * 500, "every": 0.01}],
    "in the middle": [{"text": ["ice "] * 500, "every": 0.01}],
    "between two tokens": [{"text": "ice"}, {"hang": True}],
}


@pytest.mark.parametrize("reply", HANGING.values(), ids=HANGING.keys())
async def test_the_server_sees_at_once_that_nobody_listens_any_more(server: ModelServer, reply):
    server.play(reply)
    async with model_of(server) as model:
        events = model.stream(QUESTION, [], max_tokens=64)
        waiting = asyncio.ensure_future(_drain(events))
        await asyncio.to_thread(server.wait_for_a_request)
        await asyncio.sleep(0.2)
        left = time.monotonic()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await events.aclose()
        noticed = await asyncio.to_thread(server.requests[0].wait_until_ended)
    assert noticed is not None
    assert noticed - left < 1


async def _drain(events: AsyncIterator[ModelEvent]) -> None:
    async for _ in events:
        pass


async def test_closing_after_an_event_closes_the_request(server: ModelServer):
    server.play([{"text": ["ice "] * 500, "every": 0.01}])
    async with model_of(server) as model:
        events = model.stream(QUESTION, [], max_tokens=64)
        assert isinstance(await anext(events), TextDelta)
        left = time.monotonic()
        await events.aclose()
        noticed = await asyncio.to_thread(server.requests[0].wait_until_ended)
    assert noticed is not None
    assert noticed - left < 1


# --- Discretion ---------------------------------------------------------------------------------


async def test_neither_the_key_nor_a_word_is_logged(server: ModelServer, caplog):
    caplog.set_level(logging.DEBUG)
    refusal = fail(400, {"error": "x does not support tools"})
    await ask(server, refusal, say("answerword"), tools=[SEARCH], api_key="keyword")
    await failure_of(server, [{"text": "answerword"}, {"cut": True}], api_key="keyword")
    logged = caplog.text + str([record.args for record in caplog.records])
    for secret in ("keyword", "answerword", "Why does ice float", "web_search"):
        assert secret not in logged


async def test_variables_meant_for_others_are_not_sent(server: ModelServer, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-other")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    await ask(server, say("ok"))
    assert "other" not in str(server.requests[0].headers)
