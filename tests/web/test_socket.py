"""The page's socket: what may come in, what goes out, and who may open it."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from chat import store
from chat.answer_text import answer_after
from chat.database import in_database
from chat.models import Conversation, Message, Run, RunEvent
from tests.servers.model_script import call, say
from tests.web.conftest import begun, until

pytestmark = pytest.mark.django_db(transaction=True)

SEARCH = call("search_library", query="ice")


def events_in(heard: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in heard if "seq" in message and "puts" in message]


async def test_a_question_is_accepted_shown_streamed_and_stored(page_of, alice, model) -> None:
    server = model([say("It is lighter.", pieces=3)])
    page = await page_of(alice)
    heard = await page.ask()
    accepted, turn = heard[0], heard[1]
    assert accepted["type"] == "accepted"
    assert turn["type"] == "turn"
    assert "Why does ice float?" in turn["html"]
    assert [event["seq"] for event in events_in(heard)][-1] >= 3
    run = await in_database(Run.objects.select_related("answer").get)(pk=accepted["run"])
    assert (run.status, run.answer.text) == ("complete", "It is lighter.")
    assert server.requests[0].body["model"] == "scripted"


async def test_seq_has_no_gap_on_the_wire_and_in_the_store(page_of, alice, model) -> None:
    model([SEARCH, say("word " * 200, pieces=200)])
    page = await page_of(alice)
    heard = await page.ask()
    told = [event["seq"] for event in events_in(heard)]
    turn = next(message for message in heard if message["type"] == "turn")
    assert told == list(range(turn["seq"] + 1, told[-1] + 1))
    stored = await in_database(
        lambda: list(RunEvent.objects.order_by("seq").values_list("seq", flat=True))
    )()
    assert stored == list(range(1, len(stored) + 1))
    assert stored[-1] == told[-1]


async def test_the_same_client_id_is_the_same_ask(page_of, alice, model) -> None:
    model([say("One.")])
    page = await page_of(alice)
    first = await page.ask()
    await page.send({"type": "ask", "text": "Why does ice float?", "client_id": "c-1"})
    again = (await page.until("accepted"))[-1]
    assert again["run"] == first[0]["run"]
    assert await in_database(Run.objects.count)() == 1
    assert await in_database(Message.objects.count)() == 2


async def test_a_second_ask_is_refused_while_one_is_answered(page_of, alice, model) -> None:
    model([[{"hang": True}]])
    page = await page_of(alice)
    await page.send({"type": "ask", "text": "One?", "client_id": "c-1"})
    conversation = (await page.until("accepted"))[-1]["conversation"]
    refused = await page.ask("Two?", client_id="c-2", conversation=conversation)
    assert refused[-1]["code"] == "busy"
    assert refused[-1]["client_id"] == "c-2"
    assert await in_database(Run.objects.count)() == 1


@pytest.mark.parametrize("conversation", [999_999, "other"])
async def test_an_unknown_conversation_is_refused_and_none_is_made(
    page_of, alice, charlie, model, conversation: Any
) -> None:
    model([say("No.")])
    if conversation == "other":
        conversation = (await in_database(begun)(charlie)).conversation_id
    before = await in_database(Conversation.objects.count)()
    page = await page_of(alice)
    heard = await page.ask(conversation=conversation)
    assert heard[-1]["code"] == "unknown"
    assert await in_database(Conversation.objects.count)() == before


@pytest.mark.parametrize(
    "message",
    [
        "not json",
        "[]",
        "7",
        "null",
        '{"type": 3}',
        "{}",
        '{"type": "drop_tables"}',
        '{"type": "ask"}',
        '{"type": "ask", "text": ""}',
        '{"type": "ask", "text": "  \\u200b\\u202e "}',
        '{"type": "ask", "text": {"a": 1}, "client_id": []}',
        '{"type": "ask", "text": "x", "conversation": "abc"}',
        '{"type": "ask", "text": "x", "conversation": -1}',
        '{"type": "ask", "text": "x", "conversation": 99999999999999999999999}',
        '{"type": "ask", "text": "x", "edits": 1, "continues": 1}',
        '{"type": "ask", "text": "x", "client_id": "<script>"}',
        '{"type": "stop"}',
        '{"type": "stop", "run": "x"}',
        '{"type": "stop", "run": 12345}',
        '{"type": "watch"}',
        '{"type": "watch", "conversation": null, "runs": 3}',
        '{"type": "watch", "conversation": 5, "runs": {"x": "y"}}',
        "[" * 5_000,
    ],
)
async def test_a_bad_message_gets_a_sentence_and_the_socket_goes_on(
    page_of, alice, model, message: str
) -> None:
    model([say("Fine.")])
    page = await page_of(alice)
    await page.send(message)
    refused = await page.receive()
    if '"text": {' in message:
        assert refused["type"] in {"refused", "accepted"}
    else:
        assert refused["type"] == "refused"
        assert refused["message"].endswith((".", "…"))
    heard = await page.ask(client_id="c-after")
    assert heard[-1]["type"] == "run_finished"


async def test_a_question_that_is_too_long_is_refused_with_both_lengths(page_of, alice) -> None:
    page = await page_of(alice)
    heard = await page.ask("word " * 40_000)
    assert heard[-1]["code"] == "invalid"
    assert "200,000" in heard[-1]["message"] or "199,999" in heard[-1]["message"]
    assert "20,000" in heard[-1]["message"]
    assert await in_database(Conversation.objects.count)() == 0


async def test_control_and_bidirectional_characters_are_not_stored(page_of, alice, model) -> None:
    server = model([say("Fine.")])
    page = await page_of(alice)
    await page.ask("Why\x00 does\u202e ice\u200b float?\x07")
    question = await in_database(Message.objects.get)(role="user")
    assert question.text == "Why does ice float?"
    assert "\u202e" not in json.dumps(server.requests[0].body, ensure_ascii=False)


async def test_a_stranger_is_closed_out(page_of) -> None:
    page = await page_of(None)
    assert await page.closing_code() == 4401


async def test_a_socket_from_another_origin_is_not_opened(alice, transactional_db) -> None:
    from tests.web.conftest import PageSocket, _cookie_of

    cookie = await in_database(_cookie_of)(alice)
    page = PageSocket(cookie, origin="https://evil.example")
    assert not await page.open()


async def test_a_stranger_can_neither_stop_nor_watch(page_of, alice, charlie) -> None:
    run = await in_database(begun)(alice)
    page = await page_of(charlie)
    await page.send({"type": "stop", "run": run.pk})
    assert (await page.receive())["code"] == "not_running"
    await page.send({"type": "watch", "conversation": run.conversation_id, "runs": {run.pk: 0}})
    assert (await page.receive())["code"] == "unknown"
    assert not (await in_database(Run.objects.get)(pk=run.pk)).stop_requested


async def test_a_stranger_hears_nothing_of_a_run_smuggled_into_an_own_watch(
    page_of, alice, charlie
) -> None:
    others = await in_database(begun)(alice, "A secret question?")
    own = await in_database(begun)(charlie, "Mine?")
    page = await page_of(charlie)
    await page.send(
        {"type": "watch", "conversation": own.conversation_id, "runs": {str(others.pk): 0}}
    )
    heard = json.dumps(await page.receive())
    assert "secret" not in heard
    assert "Mine?" in heard


# --- Stop ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        [],
        [{"text": ["Half ", "an "], "every": 0.01}],
        [{"reasoning": ["hm "], "every": 0.01}],
    ],
    ids=["before the first token", "in the middle", "while it reasons"],
)
async def test_stop_closes_the_upstream_request_within_a_second(
    page_of, alice, model, before: list[Any]
) -> None:
    server = model([[*before, {"hang": True}]])
    page = await page_of(alice)
    await page.send({"type": "ask", "text": "Why?", "client_id": "c-1"})
    run = (await page.until("accepted"))[-1]["run"]
    await until(lambda: server.requests)
    await asyncio.sleep(0.3)
    pressed = time.monotonic()
    await page.send({"type": "stop", "run": run})
    heard = await page.until("run_finished")
    assert heard[-1]["status"] == "stopped"
    await until(lambda: server.requests[0].left_at)
    assert server.requests[0].left_at - pressed < 1
    row = await in_database(Run.objects.select_related("answer").get)(pk=run)
    assert row.answer.text == ("Half an " if "text" in str(before) else "")


async def test_a_stop_from_another_process_is_a_mark_that_the_run_sees(
    page_of, alice, model
) -> None:
    server = model([[{"text": "Half "}, {"hang": True}]])
    page = await page_of(alice)
    await page.send({"type": "ask", "text": "Why?", "client_id": "c-1"})
    run = (await page.until("accepted"))[-1]["run"]
    await until(lambda: server.requests)
    pressed = time.monotonic()
    assert await in_database(store.request_stop)(alice, run)
    assert (await page.until("run_finished"))[-1]["status"] == "stopped"
    assert time.monotonic() - pressed < 1


async def test_a_question_right_after_stop_keeps_the_order_and_the_partial_answer(
    page_of, alice, model
) -> None:
    server = model(
        [
            {"when": "One", "reply": [{"text": "Half an answer"}, {"hang": True}]},
            {"when": "Two", "reply": say("Whole.")},
        ]
    )
    page = await page_of(alice)
    await page.send({"type": "ask", "text": "One?", "client_id": "c-1"})
    accepted = (await page.until("accepted"))[-1]
    await until(in_database(lambda: "Half" in _told(accepted["run"])))
    await page.send({"type": "stop", "run": accepted["run"]})
    await page.until("run_finished")
    heard = await page.ask("Two?", client_id="c-2", conversation=accepted["conversation"])
    assert heard[-1]["status"] == "complete"
    sent = [m["content"] for m in server.requests[1].body["messages"]]
    assert sent[1:3] == ["One?", "Half an answer"]


def _told(run_id: int) -> str:
    return answer_after(store.read_events(run_id)).text


# --- Catching up --------------------------------------------------------------------------------


async def test_a_second_page_catches_up_from_any_seq(page_of, alice, model) -> None:
    model([SEARCH, say("word " * 50 + "end [1].", pieces=50)])
    page = await page_of(alice)
    heard = await page.ask()
    run, conversation = heard[0]["run"], heard[0]["conversation"]
    whole = await _replayed(page_of, alice, conversation, run, 0)
    assert whole[0]["seq"] == 1
    for seq in range(1, len(whole) + 1):
        rest = await _replayed(page_of, alice, conversation, run, seq)
        assert rest == whole[seq:]


async def _replayed(page_of, user, conversation: int, run: int, seq: int) -> list[dict[str, Any]]:
    page = await page_of(user)
    await page.send(
        {"type": "watch", "conversation": conversation, "runs": {str(run): seq}, "newest": run}
    )
    last = await in_database(lambda: Run.objects.get(pk=run).last_seq)()
    return [await page.receive() for _ in range(last - seq)]


async def test_a_run_goes_on_when_its_page_leaves(page_of, alice, model) -> None:
    model([[{"text": ["one ", "two ", "three"], "every": 0.15}]])
    page = await page_of(alice)
    await page.send({"type": "ask", "text": "Count?", "client_id": "c-1"})
    run = (await page.until("accepted"))[-1]["run"]
    await page.close()
    for _ in range(200):
        row = await in_database(Run.objects.select_related("answer").get)(pk=run)
        if row.status != "running":
            break
        await asyncio.sleep(0.02)
    assert (row.status, row.answer.text) == ("complete", "one two three")


async def test_a_second_page_sees_a_new_turn_of_the_first(page_of, alice, model) -> None:
    model([say("One."), say("Two.")])
    first, second = await page_of(alice), await page_of(alice)
    heard = await first.ask("One?")
    conversation = heard[0]["conversation"]
    await second.send({"type": "watch", "conversation": conversation, "newest": heard[0]["run"]})
    await first.ask("Two?", client_id="c-2", conversation=conversation)
    seen = await second.until("run_finished")
    assert seen[0]["type"] == "turn"
    assert "Two?" in seen[0]["html"]
    assert seen[-1]["status"] == "complete"


async def test_a_run_whose_process_died_is_shown_as_interrupted(page_of, alice) -> None:
    run = await in_database(begun)(alice)
    await in_database(_half_written)(run.pk)
    page = await page_of(alice)
    await page.send(
        {"type": "watch", "conversation": run.conversation_id, "runs": {str(run.pk): 0}}
    )
    heard = await page.until("run_finished")
    assert heard[-1]["status"] == "interrupted"
    ending = next(put[2] for put in heard[-1]["puts"] if str(put[1]).startswith("ending"))
    assert "Try again" in ending
    answer = await in_database(Message.objects.get)(pk=run.answer_id)
    assert answer.text == "Half an answer"


def _half_written(run_id: int) -> None:
    from chat.agent.events import StepStarted, TextAdded

    store.append_events(run_id, 0, [StepStarted(1), TextAdded("Half an answer")])
    Run.objects.filter(pk=run_id).update(process="elsewhere:1", heartbeat_at="2020-01-01T00:00Z")
