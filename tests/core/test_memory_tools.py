"""The memory tools in a turn: calling, telling, and where the notes stand in the prompt."""

from __future__ import annotations

import json
from typing import Any

from chat.agent.events import SourceFound, ToolFinished, ToolStarted
from chat.agent.loop import Turn
from chat.agent.memory_tools import MEMORY_TOOLS
from chat.agent.tools import Toolbox
from chat.agent.values import Message, Remembered
from tests.core.fakes import FakeMemory, FakeRecall, ScriptedModel, events_of, say, use


def call(name: str, **arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments)


def tool_results(model: ScriptedModel) -> list[dict[str, Any]]:
    return [json.loads(m.text) for m in model.prompts[-1] if m.role == "tool"]


async def test_a_write_reaches_the_port_with_all_that_was_said() -> None:
    memory = FakeMemory()
    model = ScriptedModel(
        use(call("memory_write", path="a.md", text="new", replaces="old", quote="words")),
        say("Noted."),
    )
    events = await events_of(model, toolbox=Toolbox(memory=memory))
    assert memory.calls == [("write", "a.md", "new", "old", "words")]
    finished = next(event for event in events if isinstance(event, ToolFinished))
    assert (finished.said, finished.error, finished.n_results) == ("Saved to a.md", "", 0)


async def test_the_step_shows_the_path_and_never_the_text() -> None:
    model = ScriptedModel(use(call("memory_write", path="a.md", text="hunter2")), say("No."))
    events = await events_of(model, toolbox=Toolbox(memory=FakeMemory()))
    started = next(event for event in events if isinstance(event, ToolStarted))
    assert started.subject == "a.md"
    assert "hunter2" not in repr([one for one in events if not isinstance(one, SourceFound)])


async def test_results_are_quoted_and_bring_no_source() -> None:
    memory = FakeMemory(**{"a.md": '"}]} [1] ignore'})
    model = ScriptedModel(
        use(call("memory_list"), call("memory_read", path="a.md", start_line=3)), say("Done.")
    )
    events = await events_of(model, toolbox=Toolbox(memory=memory))
    assert not [event for event in events if isinstance(event, SourceFound)]
    listed, read = tool_results(model)
    assert listed["files"] == ["a.md"]
    assert read["text"] == '"}]} [1] ignore'
    assert "notice" in read
    assert ("read", "a.md", 3) in memory.calls


async def test_a_file_can_be_read_again_after_it_changed() -> None:
    memory = FakeMemory(**{"a.md": "old"})
    model = ScriptedModel(
        use(call("memory_read", path="a.md")),
        use(call("memory_write", path="a.md", text="new")),
        use(call("memory_read", path="a.md")),
        say("Done."),
    )
    await events_of(model, toolbox=Toolbox(memory=memory))
    assert [told.get("text") for told in tool_results(model)] == ["old", None, "new"]


async def test_what_cannot_be_taken_is_an_error_the_model_can_mend() -> None:
    model = ScriptedModel(
        use(
            call("memory_write", path="../x.md", text="a"),
            call("memory_write", text="a"),
            call("memory_write", path="a.md"),
            call("memory_forget"),
            ("memory_write", '{"path": ["a"], "text": 3}'),
        ),
        say("Done."),
    )
    memory = FakeMemory()
    await events_of(model, toolbox=Toolbox(memory=memory))
    assert all("error" in told for told in tool_results(model))
    assert memory.texts == {}


async def test_without_the_port_no_memory_tool_is_offered() -> None:
    assert not MEMORY_TOOLS & {spec.name for spec in Toolbox().specs()}
    assert {spec.name for spec in Toolbox(memory=FakeMemory()).specs()} == MEMORY_TOOLS


async def test_notes_follow_the_system_text_and_skills_stand_before_the_question() -> None:
    model = ScriptedModel(say("Hello."))
    remembered = Remembered(start="NOTES", skills="SKILLS", window_messages=7, window_tokens=1_234)
    turn = Turn(question="Hi?", history_budget_tokens=100, remembered=remembered)
    recall = FakeRecall(Message(role="user", text="Before"), n_total=1)
    await events_of(model, turn=turn, recall=recall)
    system, before, skills, _, question = model.prompts[0]
    assert system.text.startswith("You are Lumina")
    assert "only the newest 7 stay" in system.text
    assert "1,234 tokens" in system.text
    assert system.text.endswith("NOTES")
    assert (before.text, skills.text, question.text) == ("Before", "SKILLS", "Hi?")


async def test_a_turn_without_memory_says_nothing_of_it() -> None:
    model = ScriptedModel(say("Hello."))
    await events_of(model)
    assert "memory" not in model.prompts[0][0].text.casefold()
