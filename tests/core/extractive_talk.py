"""Talking with the answerer that needs no model, message by message."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from chat.agent.ports import ModelEvent, TextDelta, ToolCallMade
from chat.agent.values import Message, ToolCall, ToolSpec
from chat.providers.models.extractive import ExtractiveAnswerer

LIBRARY, WEB, PAGE = (
    ToolSpec(name, "", {}) for name in ("search_library", "web_search", "read_page")
)
ALL = (LIBRARY, WEB, PAGE)
NOTICE = "No language model is set up"
QUESTION = "Why does ice float?"
ICE = "Ice floats because ice is less dense than liquid water."
FOLLOWUPS = re.compile(r"<followups>\n(.*)\n</followups>", re.DOTALL)


def source(number: int, *passages: str, title: str = "", **more: str) -> dict[str, Any]:
    title = title or f"Title {number}"
    return {"number": number, "title": title, "url": f"/{number}", "passages": passages, **more}


def result(*sources: dict[str, Any], **more: Any) -> Message:
    return Message(role="tool", text=json.dumps({"notice": "x", "sources": sources, **more}))


def called(name: str, reply: Message) -> list[Message]:
    return [Message(role="assistant", tool_calls=(ToolCall("c", name, "{}"),)), reply]


def user(text: str) -> Message:
    return Message(role="user", text=text)


def said(text: str) -> Message:
    return Message(role="assistant", text=text)


def step(
    messages: Sequence[Message], tools: Sequence[ToolSpec] = ALL, max_tokens: int = 2_000
) -> list[ModelEvent]:
    """The generator awaits nothing, so it is driven without an event loop."""
    stream = ExtractiveAnswerer().stream(messages, tools, max_tokens=max_tokens)
    events = []
    while True:
        try:
            stream.__anext__().send(None)
        except StopIteration as yielded:
            events.append(yielded.value)
        except StopAsyncIteration:
            return events


def text_of(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def answer(question: str, *replies: dict[str, Any], before: Sequence[Message] = ()) -> str:
    """The answer when the library brings these sources and the web nothing."""
    asked = [*before, user(question), *called("search_library", result(*replies))]
    return text_of(step([*asked, *called("web_search", result())]))


def call_of(events: Sequence[ModelEvent]) -> tuple[str, str]:
    (call,) = [event.call for event in events if isinstance(event, ToolCallMade)]
    return call.name, json.loads(call.arguments)["query"]
