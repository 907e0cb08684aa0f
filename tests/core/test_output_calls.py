"""Tool calls that a model writes as text, and all that only looks like one."""

import pytest

from chat.agent.output import OutputFilter
from chat.agent.text_calls import CALL_MAX_CHARS
from tests.core.output_reading import CALL, CALLED, TOOLS, Result, read, shown_before_the_end


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<TOOL_CALL>{CALL}</TOOL_CALL>",
        f"<tool_call>{CALL}",
        f"[{CALL}]",
        f"<think>I should search.</think>\n{CALL}",
        f"I should search.</think>\n{CALL}",
        '{"name": "web_search", "parameters": {"query": "ice"}}',
        '{"type": "function", "function": {"name": "web_search", "arguments": {"query": "ice"}}}',
        '{"function": "web_search", "arguments": {"query": "ice"}}',
        '{"arguments": {"query": "ice"}, "name": "web_search", "id": "1"}',
        '{"name": "web_search", "arguments": {"query": "ice",},}',
        CALL[:-1],
        CALL[:-2],
    ],
)
def test_a_call_written_as_text_is_a_call_and_never_shown(text: str):
    assert shown_before_the_end(text).strip() == ""
    result = read(text)
    assert (result.visible.strip(), result.calls) == ("", CALLED)


def test_arguments_may_be_text_that_holds_an_object():
    result = read('{"name": "web_search", "arguments": "{\\"query\\": \\"ice\\"}"}')
    assert result.calls == [("web_search", '{"query": "ice"}')]


def test_several_calls_are_all_taken():
    other = CALL.replace("ice", "iron")
    for text in (
        f"[{CALL}, {other}]",
        f"{CALL}\n{other}",
        f"```json\n{CALL}\n{other}\n```",
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{other}</tool_call>",
    ):
        assert read(text) == Result(calls=[*CALLED, ("web_search", '{"query": "iron"}')])


def test_calls_of_one_answer_have_ids_of_their_own():
    output = OutputFilter(TOOLS, step=2)
    events = [*output.feed(f"{CALL}\n{CALL}"), *output.close("stop")]
    assert [event.call.id for event in events] == ["text_2_1", "text_2_2"]


def test_prose_round_a_call_is_shown():
    assert read(f"I will look.\n{CALL}\nOne moment.").visible == "I will look.\n\nOne moment."
    assert read(f"Look: <tool_call>{CALL}</tool_call>").calls == CALLED


def test_tags_inside_the_arguments_are_part_of_them():
    call = CALL.replace("ice", "what is <think> or </think>")
    assert read(call).calls == [("web_search", '{"query": "what is <think> or </think>"}')]


def test_a_call_cut_by_length_is_still_never_shown():
    result = read('{"name": "web_search", "arguments": {"query": "why ic', finish="length")
    assert (result.visible, [name for name, _ in result.calls]) == ("", ["web_search"])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Alice", "arguments": {}}',
        '{"name": "web_search"}',
        '{"name": {"name": "web_search"}, "arguments": {}}',
        '{"function": {"name": {}, "arguments": {}}}',
        '{"name": "web_search", "description": "Searches."}',
        '{"name": "web_search", "arguments": [1]}',
        '```json\n{"name": "web_search", "age": 3}\n```\nDone.',
        f"```json\n{CALL}\nand more\n```",
        f"```python\nx = {CALL}\n```",
        f"Write {CALL} to search.",
        f"`{CALL}`",
        "<tool_call>what is this</tool_call>",
        '<tool_call>{"name": "other", "arguments": {}}</tool_call>',
        "[1] is a source, [2] too.",
        "{}",
        "[]",
        "{{{ mustache }}}",
        '[{"a": 1}, {"b": 2}]',
        '{"name": "web_search", "arguments": {"a": ]}}',
        '{"arguments": {' + '"a": {' * 100,
    ],
)
def test_everything_else_is_shown_unchanged(text: str):
    assert read(text) == Result(text)
    assert read(*text) == Result(text)


def test_without_tools_there_are_no_calls():
    assert read(CALL, tools=frozenset()) == Result(CALL)
    assert shown_before_the_end('{"name', tools=frozenset()) == '{"name'


@pytest.mark.parametrize(
    "text",
    ['{"a"', "{x", "[1", '{"name": "Alice"', '{"type": 5', "```json\n[3", "```py\ni", "{}"],
)
def test_what_cannot_be_a_call_any_more_is_shown_at_once(text: str):
    assert shown_before_the_end(text[:-1]).strip() == ""
    assert shown_before_the_end(text) == text


def test_a_call_that_never_ends_is_shown_at_last():
    text = '{"arguments": {"query": "' + "x" * CALL_MAX_CHARS
    assert shown_before_the_end(text) == text
