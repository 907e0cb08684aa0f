"""The agent's messages and tools in the shape of the chat completions API, and calls back."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.agent.arguments import parse_arguments
from chat.agent.errors import ToolError
from chat.agent.prompts import wording
from chat.agent.values import Message, ToolCall, ToolSpec


def chat_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [_with_tools(message) for message in _folded(messages)]


def told_messages(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """For a server that takes no tools: they are described in the system text, and their calls
    and results are told as text. A call that the model then writes as text is one all the same."""
    first, *rest = _folded(messages)
    if tools:
        told = "\n".join(_described(tool) for tool in tools)
        first = replace(
            first, text=f"{first.text}\n\n{wording('tools_as_text').replace('{tools}', told)}"
        )
    return [_as_told(message) for message in (first, *rest)]


def _described(tool: ToolSpec) -> str:
    arguments = ", ".join(tool.parameters.get("properties", {}))
    return f"- `{tool.name}` ({arguments}): {tool.description}"


def _folded(messages: Sequence[Message]) -> list[Message]:
    """Only the first message is a system message: the chat templates of many models refuse
    others. Later ones become the beginning of the next user message."""
    folded: list[Message] = []
    notes: list[str] = []
    for index, message in enumerate(messages):
        if message.role == "system" and index:
            notes.append(message.text)
        elif notes and message.role == "user":
            folded.append(replace(message, text="\n\n".join([*notes, message.text])))
            notes = []
        else:
            if notes:
                folded.append(Message(role="user", text="\n\n".join(notes)))
                notes = []
            folded.append(message)
    if notes:
        folded.append(Message(role="user", text="\n\n".join(notes)))
    return folded


def chat_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in tools
    ]


def _with_tools(message: Message) -> dict[str, Any]:
    shaped: dict[str, Any] = {"role": message.role, "content": _sendable(message.text)}
    if message.tool_calls:
        shaped["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.role == "tool":
        shaped["tool_call_id"] = message.tool_call_id
    return shaped


def _call(call: ToolCall) -> dict[str, Any]:
    # Servers parse the arguments of earlier calls and refuse the whole request over broken ones.
    try:
        arguments = json.dumps(dict(parse_arguments(call.arguments)), ensure_ascii=False)
    except ToolError:
        arguments = "{}"
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": _sendable(arguments)},
    }


def _as_told(message: Message) -> dict[str, Any]:
    text = _sendable(message.text)
    if message.role == "tool":
        return {"role": "user", "content": f"The tool found:\n{text}"}
    asked = [_sendable(_written(call)) for call in message.tool_calls]
    return {"role": message.role, "content": "\n".join(part for part in (text, *asked) if part)}


def _written(call: ToolCall) -> str:
    """A call as the model has written it, or would have."""
    function = _call(call)["function"]
    arguments = json.loads(function["arguments"])
    return json.dumps({"name": function["name"], "arguments": arguments}, ensure_ascii=False)


def _sendable(text: str) -> str:
    """Half a surrogate pair cannot be encoded and would fail the request."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(slots=True)
class _Piece:
    id: str = ""
    name: str = ""
    arguments: str = ""


class CallPieces:
    """Puts tool calls together from their deltas.

    Usually a call's first delta has index, id and name and the others the index alone. Also met:
    no index, no id, one index for every call, name and id in each delta, and arguments that are
    an object.
    """

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._by_index: dict[int, _Piece] = {}

    def add(self, delta: object) -> None:
        function = field(delta, "function")
        call_id, name = str(field(delta, "id") or ""), str(field(function, "name") or "")
        piece = self._piece(field(delta, "index"), call_id, name)
        piece.id = piece.id or call_id
        if name != piece.name:
            piece.name += name
        arguments = field(function, "arguments")
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments, ensure_ascii=False)
        piece.arguments += str(arguments or "")

    def _piece(self, index: object, call_id: str, name: str) -> _Piece:
        """The piece that a delta belongs to, a new one if it begins another call."""
        newest = self._pieces[-1] if self._pieces else None
        known = self._by_index.get(index) if isinstance(index, int) else newest
        if known is None or (name and self._is_another(known, index, call_id)):
            known = _Piece()
            self._pieces.append(known)
        if isinstance(index, int):
            self._by_index[index] = known
        return known

    @staticmethod
    def _is_another(known: _Piece, index: object, call_id: str) -> bool:
        """Whether a delta with a name begins a call of its own."""
        if call_id and known.id:
            return call_id != known.id
        return not isinstance(index, int) and bool(known.arguments)

    def calls(self) -> list[ToolCall]:
        """In the order in which they began. A call without a name can be answered by nobody."""
        made: dict[str, ToolCall] = {}
        for piece in self._pieces:
            if piece.name:
                new_id = f"call_{uuid.uuid4().hex[:12]}"
                call_id = new_id if piece.id in made else piece.id or new_id
                made[call_id] = ToolCall(call_id, piece.name, piece.arguments)
        return list(made.values())


def field(value: object, name: str) -> Any:
    """The client builds its objects without checking: what came may be anything."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
