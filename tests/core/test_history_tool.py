"""The search of what was said before, as the model calls it and as it reads the results."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat.agent.events import SourceFound, ToolFinished, ToolStarted
from chat.agent.history_tool import SEARCH_HISTORY, without_numbers
from chat.agent.tools import Toolbox
from chat.agent.values import HistoryHit, HistoryQuery
from chat.steps import steps_of
from tests.core.fakes import FakeHistory, ScriptedModel, events_of, say, use

BRACKETS = re.compile(r"[\[【]\s*\^?\d")


def hit(excerpt: str = "The boiler code is 4711.", conversation: str = "Boiler") -> HistoryHit:
    return HistoryHit(
        on="2026-03-02",
        who="user",
        conversation=conversation,
        link="/c/3/?at=12#turn-12",
        excerpt=excerpt,
    )


def call(**arguments: Any) -> tuple[str, str]:
    return SEARCH_HISTORY, json.dumps(arguments)


async def told(*calls: tuple[str, str], history: FakeHistory) -> list[dict[str, Any]]:
    """What the model read of its calls, in their order."""
    model = ScriptedModel(use(*calls), say("Done."))
    await events_of(model, toolbox=Toolbox(history=history))
    return [json.loads(one.text) for one in model.prompts[-1] if one.role == "tool"]


async def test_a_call_reaches_the_port_with_all_that_it_asks() -> None:
    history = FakeHistory()
    asked = call(
        query="  boiler\n code ",
        where="this",
        role="user",
        since="2026-03-01",
        until="2026-03-31T12:00:00Z",
        limit="7",
    )
    await told(asked, history=history)
    assert history.queries == [
        HistoryQuery(
            text="boiler code",
            limit=7,
            where="this",
            role="user",
            since=date(2026, 3, 1),
            until=date(2026, 3, 31),
        )
    ]


async def test_what_is_left_out_means_all() -> None:
    history = FakeHistory()
    await told(call(query="boiler", where="", role=None), history=history)
    assert history.queries == [HistoryQuery(text="boiler", limit=10)]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"query": " "}, "query"),
        ({"query": ["a"]}, "query"),
        ({}, "query"),
        ({"query": "a", "limit": 0}, "limit"),
        ({"query": "a", "limit": 51}, "limit"),
        ({"query": "a", "limit": True}, "limit"),
        ({"query": "a", "limit": "many"}, "limit"),
        ({"query": "a", "limit": 2.5}, "limit"),
        ({"query": "a", "role": "system"}, "role"),
        ({"query": "a", "role": ["user"]}, "role"),
        ({"query": "a", "where": "elsewhere"}, "where"),
        ({"query": "a", "since": "last week"}, "since"),
        ({"query": "a", "until": "2026-13-01"}, "until"),
        ({"query": "a", "until": {"day": 1}}, "until"),
        ({"query": "a", "since": "2026-03-02", "until": "2026-03-01"}, "since"),
    ],
)
async def test_bad_arguments_are_told_and_ask_nothing(wrong: dict[str, Any], word: str) -> None:
    history = FakeHistory(hit())
    (result,) = await told(call(**wrong), history=history)
    assert word in result["error"]
    assert history.queries == []


@pytest.mark.parametrize("query", ['"', "%", "_", "a AND b", "NEAR(a b)", "*", "🙂", "'; --"])
async def test_operators_and_wildcards_are_plain_text(query: str) -> None:
    history = FakeHistory()
    await told(call(query=query), history=history)
    assert [one.text for one in history.queries] == [query]


async def test_the_model_reads_when_who_and_where_and_gets_no_source() -> None:
    model = ScriptedModel(use(call(query="boiler")), say("It is 4711."))
    events = await events_of(model, toolbox=Toolbox(history=FakeHistory(hit())))
    (result,) = [json.loads(one.text) for one in model.prompts[-1] if one.role == "tool"]
    assert result["found"] == [
        {
            "on": "2026-03-02",
            "who": "user",
            "conversation": "Boiler",
            "link": "/c/3/?at=12#turn-12",
            "text": "The boiler code is 4711.",
        }
    ]
    assert "no sources" in result["notice"]
    assert not [event for event in events if isinstance(event, SourceFound)]
    started = next(event for event in events if isinstance(event, ToolStarted))
    finished = next(event for event in events if isinstance(event, ToolFinished))
    assert (started.subject, finished.n_results, finished.error) == ("boiler", 1, "")


async def test_nothing_found_is_said() -> None:
    (result,) = await told(call(query="boiler"), history=FakeHistory())
    assert result["found"] == []
    assert "Nothing" in result["note"]


@pytest.mark.parametrize(
    "marked",
    ["Ice floats [1].", "So [1, 2] and [1-3]", "【1†source】", "[^1] [ 4 ]", "［3］", "a[0] = 1"],
)
async def test_no_number_in_brackets_reaches_the_model(marked: str) -> None:
    found = FakeHistory(hit(marked, conversation=f"Title {marked}"))
    (result,) = await told(call(query="ice"), history=found)
    assert not BRACKETS.search(json.dumps(result, ensure_ascii=False).split('"found": [', 1)[1])


@given(st.text(alphabet="[]【】 ^1290,-†ab", max_size=60))
@example("[0【0]]")
def test_numbers_stay_and_their_brackets_go(text: str) -> None:
    plain = without_numbers(text)
    assert not re.search(r"\[[\s^]*\d+\s*\]|【[\s^]*\d+\s*】", plain)
    assert re.sub(r"\W|_", "", plain) == re.sub(r"\W|_", "", text)
    assert without_numbers(plain) == plain


async def test_the_same_search_is_made_once_and_a_narrower_one_again() -> None:
    history = FakeHistory(hit())
    calls = [
        call(query="boiler"),
        call(query="Boiler", limit=10),
        call(query="boiler", role="user"),
    ]
    first, again, narrower = await told(*calls, history=history)
    assert "found" in first
    assert "already" in again["error"]
    assert "found" in narrower


async def test_it_is_offered_where_there_is_something_to_search() -> None:
    offered = {spec.name for spec in Toolbox(history=FakeHistory()).specs()}
    assert offered == {SEARCH_HISTORY}
    assert SEARCH_HISTORY not in {spec.name for spec in Toolbox().specs()}


async def test_the_steps_say_what_was_looked_for() -> None:
    step = {"type": "tool_started", "call": "1", "tool": SEARCH_HISTORY, "subject": "boiler"}
    steps = steps_of([step], over=False)
    assert steps.now == "Searching the conversations for “boiler”…"
    ended = {
        "type": "tool_finished",
        "call": "1",
        "tool": SEARCH_HISTORY,
        "n_results": 2,
        "seconds": 0.04,
        "provider": "",
        "passed_over": [],
        "error": "",
    }
    (done,) = steps_of([step, ended], over=True).items
    assert f"{done.label}{done.what}" == "Searched the conversations for “boiler”"
    assert done.outcome == "2 results · 0.0 s"
