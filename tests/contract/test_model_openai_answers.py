"""What the adapter for OpenAI-compatible servers makes of answers, calls and things lacking."""

import asyncio
import json
import time
from collections.abc import Iterator

import pytest

from chat.agent.errors import ModelRefused
from chat.agent.ports import Finished, ModelEvent, ReasoningDelta, TextDelta, ToolCallMade
from chat.agent.values import Message, ToolCall, Usage
from chat.providers.models import openai_compatible
from chat.providers.models.openai_compatible import OpenAICompatibleModel
from tests.contract.openai_model import AFTER_A_CALL, SEARCH, ask, events_of, failure_of, model_of
from tests.servers.model_server import ModelServer, call, fail, say


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


# --- Answers ------------------------------------------------------------------------------------


async def test_an_answer_arrives_in_pieces_and_is_counted(server: ModelServer):
    events = await ask(server, say("Ice is light.", pieces=3, every=0.05))
    assert [event.text for event in events[:3]] == ["Ice i", "s lig", "ht."]
    assert isinstance(events[3], Finished)
    assert events[3].reason == "stop"
    assert events[3].usage.completion_tokens > 0
    assert not events[3].usage.estimated


async def test_a_request_holds_the_messages_the_tools_and_the_limit(server: ModelServer):
    await ask(server, say("ok"), messages=AFTER_A_CALL, tools=[SEARCH], api_key="sesame")
    body = server.bodies[0]
    assert body["max_tokens"] == 64
    assert body["stream"] is True
    assert body["tools"][0]["function"]["name"] == "web_search"
    assert body["messages"][0] == {"role": "user", "content": "Why does ice float?"}
    assert body["messages"][2]["tool_call_id"] == "c1"
    assert server.requests[0].headers["authorization"] == "Bearer sesame"


async def test_broken_arguments_of_an_earlier_call_are_sent_as_valid_json(server: ModelServer):
    await ask(server, say("ok"), messages=AFTER_A_CALL, tools=[SEARCH])
    sent = server.bodies[0]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {}


async def test_half_a_surrogate_pair_in_a_question_does_not_fail_the_request(server: ModelServer):
    await ask(server, say("ok"), messages=[Message(role="user", text="a\ud83db")])
    assert server.bodies[0]["messages"][0]["content"] == "a\ufffdb"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_apart_from_the_answer(server: ModelServer, name: str):
    events = await ask(server, [{"reasoning": "Hm.", "field": name}, {"text": "Light."}])
    assert events[:2] == [ReasoningDelta("Hm."), TextDelta("Light.")]


async def test_content_in_parts_is_text(server: ModelServer):
    parts = [{"type": "text", "text": "Li"}, {"type": "text", "text": "ght."}]
    events = await ask(server, [{"delta": {"content": parts}}])
    assert events[0] == TextDelta("Light.")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("eos", "stop"),
        ("surprise", "unknown"),
        ("tool_calls", "unknown"),
    ],
)
async def test_finish_reasons_are_brought_to_one_set(server: ModelServer, said: str, meant: str):
    events = await ask(server, say("x", finish=said))
    assert events[-1].reason == meant


async def test_a_stream_without_an_ending_is_finished_for_an_unknown_reason(server: ModelServer):
    events = await ask(server, [{"text": "Ice is"}, {"end": True}])
    assert events == [TextDelta("Ice is"), Finished("unknown", None)]


async def test_silence_after_the_finish_does_not_hold_the_answer(server: ModelServer, monkeypatch):
    monkeypatch.setattr(openai_compatible, "AFTER_FINISH_SECONDS", 0.1)
    began = time.monotonic()
    events = await ask(server, [{"text": "Light."}, {"finish": "stop"}, {"hang": True}])
    assert events == [TextDelta("Light."), Finished("stop", None)]
    assert time.monotonic() - began < 1


async def test_events_that_are_no_chunks_are_passed_over(server: ModelServer):
    strange = [{"chunk": c} for c in (None, 42, ["x"], {"choices": [None]}, {"choices": "no"})]
    events = await ask(server, [*strange, {"delta": None}, {"text": "Light."}])
    assert events[0] == TextDelta("Light.")


async def test_usage_may_be_nonsense(server: ModelServer):
    events = await ask(server, [{"text": "x"}, {"usage": {"prompt_tokens": 7, "extra": "x"}}])
    assert events[-1].usage == Usage(7, 0)
    events = await ask(server, [{"text": "x"}, {"usage": {"prompt_tokens": "many"}}])
    assert events[-1].usage is None


def test_one_model_serves_one_event_loop_after_another(server: ModelServer):
    server.play(say("one"), say("two"))
    model = OpenAICompatibleModel(base_url=server.url, model="scripted")

    async def once() -> str:
        events = await events_of(model)
        await model.aclose()
        return events[0].text

    assert [asyncio.run(once()), asyncio.run(once())] == ["one", "two"]


# --- Tool calls ---------------------------------------------------------------------------------


def made(events: list[ModelEvent]) -> list[tuple[str, str]]:
    return [(e.call.name, e.call.arguments) for e in events if isinstance(e, ToolCallMade)]


def piece(name: str | None = None, arguments: object = None, **rest: object) -> dict:
    """A delta with one piece of a call."""
    function = {"name": name, "arguments": arguments}
    given = {key: value for key, value in function.items() if value is not None}
    return {"delta": {"tool_calls": [{**rest, "function": given}]}}


async def test_a_call_in_pieces_is_put_together(server: ModelServer):
    events = await ask(server, call("web_search", id="c7", pieces=5, query="why ice floats"))
    assert events[0] == ToolCallMade(ToolCall("c7", "web_search", '{"query": "why ice floats"}'))
    assert events[1].reason == "tool_calls"


async def test_several_calls_keep_their_order(server: ModelServer):
    events = await ask(server, [*call("a", x=1, pieces=3), *call("b", y=2, pieces=3)])
    assert made(events) == [("a", '{"x": 1}'), ("b", '{"y": 2}')]


CARELESS = {
    "no index": [piece("f", "{}", id="1"), piece("g", "{}", id="2")],
    "neither index nor id": [piece("f", "{}"), piece("g", "{}")],
    "one index for all": [
        piece("f", "{}", id="1", index=0),
        piece("g", "{", id="2", index=0),
        piece(arguments="}", index=0),
    ],
    "arguments are an object": [piece("f", {}, index=0), piece("g", {}, index=1)],
    "name in every delta, an id twice": [
        piece("f", "{", id="1", index=0),
        piece("f", "}", id="1", index=0),
        piece("g", "{}", id="1", index=1),
    ],
    "interleaved": [
        piece("f", "", index=0),
        piece("g", "", index=1),
        piece(arguments="{}", index=1),
        piece(arguments="{}", index=0),
    ],
}


@pytest.mark.parametrize("deltas", CARELESS.values(), ids=CARELESS.keys())
async def test_careless_deltas_become_two_calls_with_ids_of_their_own(server: ModelServer, deltas):
    events = await ask(server, deltas)
    assert made(events) == [("f", "{}"), ("g", "{}")]
    ids = {event.call.id for event in events if isinstance(event, ToolCallMade)}
    assert len(ids) == 2
    assert "" not in ids


async def test_a_call_with_a_lying_finish_reason_is_still_a_call(server: ModelServer):
    events = await ask(server, [*call("web_search", query="x"), {"finish": "stop"}])
    assert made(events) == [("web_search", '{"query": "x"}')]
    assert events[-1].reason == "tool_calls"


async def test_a_call_cut_by_length_is_handed_over_as_it_is(server: ModelServer):
    cut = {"name": "web_search", "arguments": '{"query": "why ic'}
    events = await ask(server, [{"call": cut}, {"finish": "length"}])
    assert made(events) == [("web_search", '{"query": "why ic')]
    assert events[-1].reason == "length"


async def test_a_call_without_a_name_is_left_out(server: ModelServer):
    events = await ask(server, [{"text": "Hm."}, piece(arguments="{}", index=0)])
    assert events == [TextDelta("Hm."), Finished("stop", events[-1].usage)]


# --- What a server lacks ------------------------------------------------------------------------


async def test_a_server_that_refuses_to_count_is_asked_without_counting_from_then_on():
    with ModelServer([say("a"), say("b")], refuses=["stream_options"]) as server:
        async with model_of(server) as model:
            assert (await events_of(model))[0] == TextDelta("a")
            assert (await events_of(model))[0] == TextDelta("b")
        assert ["stream_options" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize(
    "refusal",
    [
        fail(400, {"error": "registry.ollama.ai/library/gemma:2b does not support tools"}),
        fail(400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}),
        fail(500, {"error": {"message": "tools param requires --jinja flag", "code": 500}}),
        fail(404, {"error": {"message": "No endpoints found that support tool use", "code": 404}}),
        fail(422, {"detail": [{"loc": ["body", "tools"], "msg": "extra fields not permitted"}]}),
        fail(400, {"error": {"message": "`tool calling` is not supported with this model"}}),
        fail(400, {"error": {"message": "Unrecognized request argument supplied: tools"}}),
    ],
)
async def test_a_server_that_refuses_tools_is_asked_without_them(server: ModelServer, refusal):
    server.play(refusal, say("a"), say("b"))
    async with model_of(server) as model:
        assert model.accepts_tools
        assert (await events_of(model, tools=[SEARCH]))[0] == TextDelta("a")
        assert not model.accepts_tools
        await events_of(model, messages=AFTER_A_CALL, tools=[SEARCH])
    assert ["tools" in body for body in server.bodies] == [True, False, False]
    told = server.bodies[-1]["messages"]
    assert [message["role"] for message in told] == ["user", "assistant", "user"]
    assert "Ice is light." in told[2]["content"]


async def test_a_server_with_another_name_for_the_limit_gets_that_name(server: ModelServer):
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    refusal = fail(400, {"error": {"message": message, "code": "unsupported_parameter"}})
    await ask(server, refusal, say("ok"))
    assert "max_tokens" not in server.bodies[1]
    assert server.bodies[1]["max_completion_tokens"] == 64


async def test_a_refusal_of_something_else_is_not_taken_for_a_lack(server: ModelServer):
    error = await failure_of(server, fail(400, {"error": {"message": "bad"}}), tools=[SEARCH])
    assert isinstance(error, ModelRefused)
    assert len(server.bodies) == 1
