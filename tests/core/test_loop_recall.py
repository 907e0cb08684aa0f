"""What the conversation brings back: in its place in the prompt, and to be cited truly."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from chat.agent.errors import ContextTooLong
from chat.agent.events import SourceFound
from chat.agent.loop import Turn
from chat.agent.tools import Toolbox
from chat.agent.values import (
    Earlier,
    EarlierLines,
    EarlierSource,
    Message,
    Remembered,
    SummaryText,
)
from tests.core.fakes import FakeRecall, FakeSearcher, ScriptedModel, events_of, result, say, search

READ = datetime(2026, 1, 5, tzinfo=UTC)


def page(url: str, *passages: str) -> EarlierSource:
    return EarlierSource(title="Ice", url=url, provider="Page", read_at=READ, passages=passages)


def earlier(*sources: EarlierSource) -> Earlier:
    said = [EarlierLines(who="user", on="2026-01-02", lines=("The boiler code is 4711.",))]
    return Earlier(said=said, counts=["Searches made (1): ice"], sources=sources)


def quoted(message: Message) -> dict:
    return json.loads(message.text)


async def test_the_prompt_has_its_order() -> None:
    model = ScriptedModel(say("Yes."))
    recall = FakeRecall(
        Message(role="user", text="Before"),
        n_total=9,
        earlier=earlier(page("https://example.org/ice", "Ice floats.")),
        summaries=[SummaryText(on="2026-01-01", n_messages=8, text="They spoke of boilers.")],
    )
    remembered = Remembered(start="NOTES", skills="SKILLS", window_messages=7, window_tokens=99)
    turn = Turn(question="Now?", history_budget_tokens=500, remembered=remembered)
    await events_of(model, turn=turn, recall=recall)
    system, summaries, before, older, skills, situation, question = model.prompts[0]
    assert "NOTES" in system.text
    assert quoted(summaries)["summaries"][0]["text"] == "They spoke of boilers."
    assert before.text == "Before"
    assert quoted(older)["earlier"][0]["text"] == "The boiler code is 4711."
    assert quoted(older)["counted"] == ["Searches made (1): ice"]
    assert skills.text == "SKILLS"
    assert "2026-03-31" in situation.text
    assert question.text == "Now?"


async def test_old_evidence_gets_numbers_of_this_turn_before_anything_new() -> None:
    model = ScriptedModel(search("ice"), say("It floats [1], and melts [2]."))
    recall = FakeRecall(
        earlier=earlier(page("https://example.org/old", "Ice floats.", "It melts."))
    )
    events = await events_of(model, recall=recall)
    found = [event.source for event in events if isinstance(event, SourceFound)]
    assert [(one.number, one.url, one.recalled) for one in found] == [
        (1, "https://example.org/old", True),
        (2, "https://example.org/ice", False),
    ]
    assert [span.of(found[0].text) for span in found[0].passages] == ["Ice floats.", "It melts."]
    assert found[0].read_at == READ
    told = quoted(next(m for m in model.prompts[0] if "Ice floats." in m.text))
    assert told["sources"][0]["number"] == 1
    assert told["sources"][0]["read"] == "2026-01-05"


async def test_a_page_that_is_found_again_keeps_its_number_and_is_no_longer_only_recalled() -> None:
    model = ScriptedModel(search("ice"), say("It floats [1]."))
    searcher = FakeSearcher(lambda _: [result("ice", url="http://example.org/old/")])
    recall = FakeRecall(earlier=earlier(page("https://example.org/old", "Ice floats.")))
    events = await events_of(
        model, recall=recall, toolbox=Toolbox(web=searcher, library=searcher, reader=None)
    )
    found = [event.source for event in events if isinstance(event, SourceFound)]
    assert [(one.number, one.recalled) for one in found] == [(1, True), (1, False)]
    assert found[1].text == "Ice floats.\n\nAll about ice."


async def test_a_prompt_that_was_too_long_names_no_source_twice() -> None:
    model = ScriptedModel([ContextTooLong("too long")], say("It floats [1]."))
    recall = FakeRecall(earlier=earlier(page("https://example.org/old", "Ice floats.")))
    turn = Turn(question="Why?", history_budget_tokens=1_000)
    events = await events_of(model, turn=turn, recall=recall)
    assert recall.budgets == [1_000, 500]
    found = [event.source for event in events if isinstance(event, SourceFound)]
    assert {one.number for one in found} == {1}


async def test_without_anything_older_nothing_is_said_of_it() -> None:
    model = ScriptedModel(say("Yes."))
    await events_of(model, recall=FakeRecall())
    assert [message.role for message in model.prompts[0]] == ["system", "system", "user"]
