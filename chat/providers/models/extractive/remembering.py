"""What the built-in answerer does about memory: it saves what it is plainly told to remember."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chat.agent.memory_tools import MEMORY_WRITE
from chat.agent.values import ToolCall
from memory.service import note_of, wish_to_remember


def call_to_remember(text: str, offered: set[str]) -> ToolCall | None:
    """The call that keeps what "remember …" asks for; None when the text asks for no such thing."""
    what = wish_to_remember(text)
    if not what or MEMORY_WRITE not in offered:
        return None
    path, line = note_of(what)
    arguments = json.dumps({"path": path, "text": line}, ensure_ascii=False)
    return ToolCall("call_1", MEMORY_WRITE, arguments)


def what_became(result: Mapping[str, Any]) -> tuple[str, str]:
    """The name of the sentence that confirms a saving, and what it names: the file or a reason."""
    if result.get("saved") is True:
        return "remembered", str(result.get("path", ""))
    reason = result.get("tell_the_person") or result.get("error") or ""
    return "not_remembered", str(reason)
