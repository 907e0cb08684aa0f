"""Check and repair of an answer that stands: what fails, what takes its place, what stays."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from chat.agent.errors import ContextTooLong, ModelUnavailable
from chat.agent.events import (
    FollowupsSuggested,
    RunFinished,
    SentenceFailed,
    SentenceReplaced,
    SentenceUnsupported,
)
from chat.agent.limits import Limits
from chat.agent.loop import Turn
from chat.agent.sentences import sentence_spans
from chat.agent.values import Span, Usage
from tests.core.checking_fakes import (
    DRAFT,
    WordWatcher,
    checked,
    checking,
    final_text,
    found,
    of_type,
)
from tests.core.fakes import FakeClock, ScriptedModel, events_of, say, search

GOOD = "Ice is lighter than water [1]."
BAD = "Ice is much heavier than water [1]."
MARKS = (SentenceFailed, SentenceReplaced, SentenceUnsupported)


def end(events: list[Any]) -> RunFinished:
    assert isinstance(events[-1], RunFinished)
    return events[-1]


async def test_an_answer_that_passes_is_left_alone() -> None:
    watcher = WordWatcher()
    events = await checked(draft="Ice is light [1]. It floats.", checking=checking(checker=watcher))
    assert of_type(events, *MARKS) == []
    assert watcher.asked == [("Ice is light.", (1,))]


async def test_without_a_checker_nothing_is_checked() -> None:
    assert of_type(await checked(checking=None), *MARKS) == []


async def test_a_failing_sentence_is_replaced_by_one_that_passes() -> None:
    events = await checked(say(GOOD))
    failed, replaced = of_type(events, *MARKS)
    assert Span(failed.start, failed.end).of(DRAFT) == "Ice is **heavier** than water [1]."
    assert (replaced.start, replaced.end, replaced.text) == (failed.start, failed.end, GOOD)
    assert final_text(events) == f"{GOOD} It floats [1].\n"
    assert end(events).status == "complete"


async def test_what_fails_is_told_as_one_sentence_that_names_it() -> None:
    (failed, *_) = of_type(await checked(say(GOOD)), SentenceFailed)
    assert len(sentence_spans(failed.problem)) == 1
    assert "Ice is heavier than water" in failed.problem
    assert "“heavier” is not there" in failed.problem


async def test_repair_sees_the_error_and_the_chunks_alone() -> None:
    model = ScriptedModel(search("ice"), say(DRAFT), say(GOOD))
    await checked(model=model, toolbox=found("Ice is lighter.", "Rome is old."))
    system, user = model.prompts[-1]
    assert model.offered[-1] == ()
    assert (system.role, user.role) == ("system", "user")
    told = json.loads(user.text)
    assert list(told) == ["last_error", "sentence", "chunks"]
    assert told["chunks"] == [
        {"number": 1, "title": "Page 1", "text": "Ice is lighter."},
        {"number": 2, "title": "Page 2", "text": "Rome is old."},
    ]
    assert "Why does ice float?" not in system.text + user.text


async def test_after_two_failures_the_sentence_stays_and_is_marked() -> None:
    events = await checked(say(BAD), say(GOOD))
    first, second, mark = of_type(events, *MARKS)
    assert isinstance(second, SentenceFailed)
    assert "“Ice is heavier than water” is not supported" in first.problem
    assert "“Ice is much heavier than water” is not supported" in second.problem
    assert isinstance(mark, SentenceUnsupported)
    assert (mark.start, mark.end) == (first.start, first.end)
    assert final_text(events) == DRAFT
    assert end(events).status == "complete"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Ice is lighter than water.",
        "Ice is lighter than water [7].",
        "So it is. Ice is lighter than water [1].",
        "Ice is lighter than water [1]. So it is.",
        "```\nIce [1]\n```",
        "Ice | water [1].",
        "<b>Ice</b> is lighter [1].",
        f"Ice is {'very ' * 200}light [1].",
    ],
)
async def test_what_is_no_cited_sentence_takes_no_place(reply: str) -> None:
    events = await checked(say(reply))
    assert of_type(events, SentenceReplaced) == []
    assert len(of_type(events, SentenceFailed)) == 2
    assert final_text(events) == DRAFT


async def test_thoughts_and_lines_round_the_sentence_are_no_part_of_it() -> None:
    events = await checked(say("<think>Hm.</think>\n\n", "Ice is lighter\nthan water [1].\n"))
    assert [one.text for one in of_type(events, SentenceReplaced)] == [
        "Ice is lighter than water [1]."
    ]


async def test_a_sentence_that_was_cut_by_its_length_is_not_taken() -> None:
    events = await checked(say(GOOD, finish="length"))
    assert of_type(events, SentenceReplaced) == []


async def test_later_sentences_are_found_again_where_they_have_moved_to() -> None:
    draft = "Ice is heavier [1]. It floats [1]. Snow is heavier too, they say [1]."
    events = await checked(
        say("Light [1]."), say("Snow is light as well, and white [1]."), draft=draft
    )
    assert final_text(events) == "Light [1]. It floats [1]. Snow is light as well, and white [1]."


async def test_a_mark_lies_where_its_sentence_is_in_the_end() -> None:
    draft = "Ice is heavier [1]. Snow is heavier too [1]. Rain is wet [1]."
    events = await checked(say("Ice is remarkably light [1]."), say(BAD), draft=draft)
    (mark,) = of_type(events, SentenceUnsupported)
    assert Span(mark.start, mark.end).of(final_text(events)) == "Snow is heavier too [1]."


@pytest.mark.parametrize("error", [ModelUnavailable("Away."), ContextTooLong("Too long.")])
async def test_a_repair_that_fails_leaves_the_text_and_no_other_is_tried(error: Any) -> None:
    draft = "Ice is heavier [1]. Snow is heavier too [1]."
    model = ScriptedModel(search("ice"), say(draft), [error], say(GOOD))
    events = await checked(model=model)
    assert final_text(events) == draft
    assert len(model.prompts) == 3
    assert len(of_type(events, SentenceFailed)) == len(of_type(events, SentenceUnsupported)) == 2
    assert end(events).status == "complete"


async def test_stop_during_a_repair_leaves_the_answer_complete() -> None:
    stop = asyncio.Event()
    model = ScriptedModel(search("ice"), say(DRAFT), [30.0])
    asyncio.get_running_loop().call_later(0.05, stop.set)
    async with asyncio.timeout(5):
        events = await checked(model=model, stop=stop)
    assert model.closed_early == 1
    assert final_text(events) == DRAFT
    assert len(of_type(events, SentenceUnsupported)) == 1
    assert end(events).status == "complete"


async def test_no_repair_is_made_when_the_steps_are_used_up() -> None:
    model = ScriptedModel(search("ice"), say(DRAFT), say(GOOD))
    events = await checked(model=model, limits=Limits(max_steps=2))
    assert len(model.prompts) == 2
    assert len(of_type(events, SentenceUnsupported)) == 1


async def test_no_repair_is_made_when_the_tokens_are_used_up() -> None:
    spent = say(DRAFT, usage=Usage(99_990, 50))
    model = ScriptedModel(search("ice"), spent, say(GOOD))
    events = await checked(model=model, limits=Limits(max_tokens=100_000))
    assert len(model.prompts) == 2
    assert final_text(events) == DRAFT


async def test_the_seconds_end_a_repair_and_the_text_is_whole() -> None:
    clock = FakeClock(step=1.0)
    model = ScriptedModel(search("ice"), say(DRAFT), say(*["Ice "] * 80, "[1]."))
    events = await checked(model=model, clock=clock, limits=Limits(max_seconds=60))
    assert final_text(events) == DRAFT
    assert end(events).status == "complete"


async def test_one_repair_takes_a_minute_at_most() -> None:
    """The person waits, with the whole answer before their eyes."""
    clock = FakeClock(step=1.0)
    model = ScriptedModel(search("ice"), say(DRAFT), say(*["Ice "] * 200, "[1]."))
    events = await checked(model=model, clock=clock, limits=Limits(max_seconds=1_000))
    assert model.closed_early == 1
    assert final_text(events) == DRAFT


async def test_what_a_repair_costs_is_counted() -> None:
    events = await checked(say(GOOD, usage=Usage(40, 9)))
    assert end(events).n_steps == 3
    assert end(events).usage.completion_tokens >= 9


async def test_an_answerer_that_only_quotes_is_checked_and_never_asked_to_repair() -> None:
    model = ScriptedModel(search("ice"), say(DRAFT), say(GOOD))
    events = await checked(model=model, checking=checking(repairs=False))
    assert len(model.prompts) == 2
    assert len(of_type(events, SentenceUnsupported)) == 1


@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_a_cut_answer_is_not_judged_yet(finish: Any) -> None:
    model = ScriptedModel(search("ice"), say(DRAFT, finish=finish))
    events = await checked(model=model)
    assert of_type(events, *MARKS) == []
    assert end(events).status == "truncated"


async def test_a_continued_answer_is_judged_as_a_whole() -> None:
    first = await checked(draft="Ice is", checking=None)
    sources = [event.source for event in first if event.type == "source_found"]
    turn = Turn(
        question="Why?", history_budget_tokens=0, answer="Ice is heavier [1]. It", sources=sources
    )
    model = ScriptedModel(say(" floats [1]."), say(GOOD))
    events = await events_of(model, turn=turn, checking=checking())
    assert final_text(events) == f"{GOOD} It floats [1]."


async def test_follow_ups_come_after_the_check() -> None:
    draft = f"{DRAFT}\n<followups>\nWhy?\n</followups>"
    events = await checked(say(GOOD), draft=draft)
    assert [type(event) for event in events[-3:]] == [
        SentenceReplaced,
        FollowupsSuggested,
        RunFinished,
    ]


async def test_a_failed_search_leaves_nothing_that_could_be_read_as_found() -> None:
    """Its result holds an error and no source; a number that the model invents is no citation."""
    from chat.agent.tools import Toolbox
    from tests.core.fakes import FakeSearcher

    model = ScriptedModel(search("ice"), say("Ice is heavier than water [1]."))
    events = await checked(model=model, toolbox=Toolbox(web=FakeSearcher(fails="No engine.")))
    result = json.loads(next(one.text for one in model.prompts[1] if one.role == "tool"))
    assert result == {"error": "No engine."}
    assert of_type(events, *MARKS) == []
    assert [event for event in events if event.type == "source_found"] == []


async def test_a_second_question_knows_nothing_of_the_failures_of_the_first() -> None:
    first = await checked(say(BAD))
    second = await checked(say(GOOD))
    assert len(of_type(first, SentenceFailed)) == 2
    assert len(of_type(second, SentenceFailed)) == 1
    assert of_type(second, SentenceUnsupported) == []
