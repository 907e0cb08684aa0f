"""Tool calls that a model wrote as text: JSON whose name is an offered tool.

{"name": "web_search", "arguments": {"query": "ice"}}
{"type": "function", "function": {"name": "web_search", "parameters": {…}}}
[{…}, {…}]
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chat.agent.arguments import parse_arguments
from chat.agent.errors import ToolError

Verdict = Literal["more", "done", "no"]

_KEYS = frozenset({"name", "arguments", "parameters", "function", "type", "id"})
_MAX_DEPTH = 60
CALL_MAX_CHARS = 16_000
_BETWEEN = re.compile(r"[\s,;]*")


@dataclass(frozen=True, slots=True)
class TextCall:
    name: str
    arguments: str


class CallScanner:
    """Follows one JSON value, a character at a time, for as long as it can still be calls.

    It says no at the first key that no call has and at the first name that is not offered, so
    that other JSON is held back for a few characters only. What is nested deeper is only
    followed for its brackets and strings; the parser reads it at the end.
    """

    def __init__(self, tool_names: frozenset[str]) -> None:
        self.calls: list[TextCall] = []
        self._tool_names = tool_names
        self._expected = "value"
        self._base = 0  # how many brackets are round an object: 1 in a list
        self._stack: list[str] = []
        self._object: list[str] = []  # the characters of the object being read
        self._string: list[str] | None = None  # the string being read, without its quotes
        self._is_escaped = False
        self._key = ""

    def push(self, char: str) -> Verdict:
        if len(self._stack) > self._base:
            self._object.append(char)
        if self._string is not None:
            return self._push_in_string(char)
        if char in " \t\n":
            return "more"
        if len(self._stack) > self._base + 1:
            return self._push_nested(char)
        return self._push_outer(char)

    def unfinished(self) -> list[TextCall]:
        """The calls of a value that breaks off, the last one with the fields it got."""
        call = self._call("".join(self._object)) if self._object else None
        return [*self.calls, call] if call else self.calls

    def _push_in_string(self, char: str) -> Verdict:
        assert self._string is not None
        if self._is_escaped:
            self._is_escaped = False
        elif char == "\\":
            self._is_escaped = True
        elif char == '"':
            text, self._string = "".join(self._string), None
            return "more" if len(self._stack) > self._base + 1 else self._end_string(text)
        self._string.append(char)
        return "more"

    def _end_string(self, text: str) -> Verdict:
        if self._expected == "key":
            self._key, self._expected = text, "colon"
            return "more" if text in _KEYS else "no"
        self._expected = "comma"
        return "no" if self._key == "name" and text not in self._tool_names else "more"

    def _push_nested(self, char: str) -> Verdict:
        if char == '"':
            self._string = []
        elif char in "{[":
            self._stack.append(char)
        elif char in "}]":
            if self._stack.pop() + char not in {"{}", "[]"}:
                return "no"
            if len(self._stack) == self._base + 1:
                self._expected = "comma"
        return "more" if len(self._stack) < _MAX_DEPTH else "no"

    def _push_outer(self, char: str) -> Verdict:
        """Between objects, and on the first level of one."""
        step = (self._expected, char)
        if char == "{" and self._expected in {"value", "object"}:
            self._stack.append(char)
            self._object, self._expected = [char], "key"
        elif step == ("value", "["):
            self._stack.append(char)
            self._base, self._expected = 1, "object"
        elif step == ("key", '"') or (char == '"' and self._expected == "member"):
            self._string = []
        elif step == ("colon", ":"):
            self._expected = "member"
        elif char == "{" and self._expected == "member" and self._key != "name":
            self._stack.append(char)
        elif step == ("comma", ","):
            self._expected = "key"
        elif char == "}" and (self._expected == "comma" or (self._key and step == ("key", "}"))):
            return self._end_object()
        elif step == ("next", ","):
            self._expected = "object"
        elif step == ("next", "]"):
            return "done"
        else:
            return "no"
        return "more"

    def _end_object(self) -> Verdict:
        call = self._call("".join(self._object))
        if call is None:
            return "no"
        self.calls.append(call)
        self._stack.pop()
        self._object, self._key, self._expected = [], "", "next"
        return "more" if self._stack else "done"

    def _call(self, text: str) -> TextCall | None:
        try:
            return call_in(parse_arguments(text), self._tool_names)
        except ToolError:
            return None


class CallBlock:
    """Calls as they stand in a text: one value, or several up to `closing` where there is one.

    `n_read` counts the characters that have been read, `n_opening` of which came before the
    first value.
    """

    def __init__(self, tool_names: frozenset[str], n_opening: int, closing: str) -> None:
        self.calls: list[TextCall] = []
        self.n_read = n_opening
        self._tool_names, self._closing = tool_names, closing
        self._scanner: CallScanner | None = CallScanner(tool_names)

    def read(self, text: str, begin: int) -> Verdict:
        """Read on in `text`, where the block begins at `begin`. It was read up to `n_read`."""
        verdict: Verdict | None = None
        while verdict is None:
            if self._scanner:
                verdict = self._read_value(self._scanner, text, begin)
            else:
                verdict = self._read_between(text, begin + self.n_read, begin)
            if self.n_read > CALL_MAX_CHARS:
                return "no"
        return verdict

    def unfinished(self) -> list[TextCall]:
        return self.calls + (self._scanner.unfinished() if self._scanner else [])

    def _read_value(self, scanner: CallScanner, text: str, begin: int) -> Verdict | None:
        for at in range(begin + self.n_read, min(len(text), begin + CALL_MAX_CHARS + 1)):
            verdict = scanner.push(text[at])
            if verdict == "no":
                return verdict
            self.n_read += 1
            if verdict == "done":
                self.calls += scanner.calls
                self._scanner = None
                return None if self._closing else "done"
        return "more"

    def _read_between(self, text: str, at: int, begin: int) -> Verdict | None:
        """After a value: another one, the end, or something that makes it no block of calls."""
        space = _BETWEEN.match(text, at)
        at = space.end() if space else at
        self.n_read = at - begin
        rest = text[at : at + len(self._closing)]
        if rest.lower() == self._closing:
            self.n_read += len(rest)
            return "done"
        if self._closing.startswith(rest.lower()):
            return "more"
        if rest[0] not in "{[":
            return "no"
        self._scanner = CallScanner(self._tool_names)
        return None


def call_in(value: Mapping[str, Any], tool_names: frozenset[str]) -> TextCall | None:
    """The call that an object stands for, if it is one of an offered tool."""
    function = value.get("function")
    inner = function if isinstance(function, Mapping) else value
    name = function if isinstance(function, str) else inner.get("name")
    arguments = inner.get("arguments", inner.get("parameters"))
    if not isinstance(name, str) or name not in tool_names:
        return None
    if isinstance(arguments, Mapping):
        return TextCall(name, json.dumps(arguments, ensure_ascii=False))
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        return TextCall(name, arguments)
    return None
