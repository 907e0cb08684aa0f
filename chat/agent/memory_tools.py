"""The tools for the person's memory files: list, read, write, forget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat.agent.errors import ToolError
from chat.agent.ports import MemoryFiles
from chat.agent.prompts import wording
from chat.agent.values import MemoryReply, ToolSpec

MEMORY_LIST = "memory_list"
MEMORY_READ = "memory_read"
MEMORY_WRITE = "memory_write"
MEMORY_FORGET = "memory_forget"
MEMORY_TOOLS = frozenset({MEMORY_LIST, MEMORY_READ, MEMORY_WRITE, MEMORY_FORGET})

MAX_SUBJECT_CHARS = 200

_PATH = {"type": "string", "description": "such as knowledge/user.md"}
_QUOTE = {
    "type": "string",
    "description": "the person's exact words, when they are from an earlier message",
}
_PARAMETERS: Mapping[str, tuple[Mapping[str, Any], list[str]]] = {
    MEMORY_LIST: ({}, []),
    MEMORY_READ: (
        {
            "path": _PATH,
            "start_line": {"type": "integer", "description": "the line to read from; 1 to begin"},
        },
        ["path"],
    ),
    MEMORY_WRITE: (
        {
            "path": _PATH,
            "text": {"type": "string", "description": "Markdown lines to append, or the new text"},
            "replaces": {
                "type": "string",
                "description": "the text of the file to replace; it must occur exactly once",
            },
            "quote": _QUOTE,
        },
        ["path", "text"],
    ),
    MEMORY_FORGET: (
        {
            "path": _PATH,
            "text": {
                "type": "string",
                "description": "part of each line to forget; without it the whole file goes",
            },
            "quote": _QUOTE,
        },
        ["path"],
    ),
}


def memory_specs() -> list[ToolSpec]:
    return [
        ToolSpec(
            name,
            wording(name),
            {"type": "object", "properties": properties, "required": required},
        )
        for name, (properties, required) in _PARAMETERS.items()
    ]


def about(name: str, arguments: Mapping[str, Any]) -> str:
    """The file that a call is about, as the steps show it: never a text that it would write.

    Raises ToolError when something that the call needs is missing.
    """
    if name == MEMORY_LIST:
        return ""
    path = _text(arguments, "path").strip()
    if not path:
        raise ToolError('The call needs a path, such as {"path": "knowledge/user.md"}.')
    if name == MEMORY_WRITE and not (_text(arguments, "text") or _text(arguments, "replaces")):
        raise ToolError('The call needs a text, such as {"text": "- Name: Ana"}.')
    return path[:MAX_SUBJECT_CHARS]


async def use_memory(memory: MemoryFiles, name: str, arguments: Mapping[str, Any]) -> MemoryReply:
    """Runs a call that `about` has understood. Raises MemoryRefused."""
    path, text = _text(arguments, "path"), _text(arguments, "text")
    quote = _text(arguments, "quote")
    if name == MEMORY_LIST:
        return await memory.list_files()
    if name == MEMORY_READ:
        start_line = arguments.get("start_line")
        begin = start_line if isinstance(start_line, int) and start_line > 0 else 1
        return await memory.read(path, start_line=begin)
    if name == MEMORY_WRITE:
        replaces = _text(arguments, "replaces")
        return await memory.write(path, text, replaces=replaces, quote=quote)
    return await memory.forget(path, text, quote=quote)


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""
