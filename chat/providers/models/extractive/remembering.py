"""What the built-in answerer does about memory: it saves what it is plainly told to remember, and
quotes the notes that it is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chat.agent.memory_tools import MEMORY_WRITE
from chat.agent.values import Message, ToolCall
from chat.providers.models.extractive.passages import Passage
from memory.service import asks_name, label_of, note_of, wish_to_remember

_NOTES = '{"notice"'


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


def notes_in(messages: Sequence[Message]) -> tuple[Passage, ...]:
    """The lines of the memory files in the prompt, each titled by its file."""
    system = messages[0].text if messages and messages[0].role == "system" else ""
    begin = system.rfind(_NOTES)
    if begin < 0:
        return ()
    try:
        files = json.loads(system[begin:]).get("files", [])
    except ValueError:
        return ()
    return tuple(
        Passage(number=0, title=file["path"], text=line.lstrip("-*+# ").strip())
        for file in files
        for line in file["text"].split("\n")
        if line.strip()
    )


def note_of_name(question: str, notes: Sequence[Passage]) -> Passage | None:
    """The line that says the person's name, if that is what they ask."""
    if not asks_name(question):
        return None
    return next((note for note in notes if label_of(note.text) == "name"), None)
