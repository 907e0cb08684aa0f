"""The agent's messages in the shape that servers and their chat templates take."""

from __future__ import annotations

from chat.agent.values import Message, ToolCall, ToolSpec
from chat.providers.models.openai_messages import chat_messages, told_messages

SEARCH = ToolSpec(
    "web_search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}}
)


def test_only_the_first_message_is_a_system_message() -> None:
    shaped = chat_messages(
        [
            Message(role="system", text="You are Lumina."),
            Message(role="system", text="[2 left out]"),
            Message(role="assistant", text="Hi"),
            Message(role="system", text="Now it is noon."),
            Message(role="user", text="Why?"),
            Message(role="system", text="[the end]"),
        ]
    )
    assert [(m["role"], m["content"]) for m in shaped] == [
        ("system", "You are Lumina."),
        ("user", "[2 left out]"),
        ("assistant", "Hi"),
        ("user", "Now it is noon.\n\nWhy?"),
        ("user", "[the end]"),
    ]


def test_without_tools_the_whole_exchange_is_text() -> None:
    shaped = told_messages(
        [
            Message(role="system", text="You are Lumina."),
            Message(role="user", text="Why?"),
            Message(role="assistant", tool_calls=(ToolCall("c", "web_search", '{"query": "x"}'),)),
            Message(role="tool", text='{"sources": []}', tool_call_id="c"),
        ],
        [SEARCH],
    )
    assert all(set(message) == {"role", "content"} for message in shaped)
    assert "`web_search` (query): Searches." in shaped[0]["content"]
    assert shaped[2] == {
        "role": "assistant",
        "content": '{"name": "web_search", "arguments": {"query": "x"}}',
    }
    assert shaped[3]["content"].endswith('{"sources": []}')


def test_without_any_tool_left_none_is_described() -> None:
    (shaped,) = told_messages([Message(role="system", text="You are Lumina.")], [])
    assert shaped["content"] == "You are Lumina."
