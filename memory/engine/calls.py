"""What a tool's message says about the world: a reading, a change, a command or a search.

Tools are known by the words of their names and the names of their arguments, in the forms that
agents use; a tool that fits none is a reading of its target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memory.engine.values import Message

Kind = Literal["read", "change", "run", "search"]

_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CHANGES = {"edit", "write", "replace", "patch", "create", "update", "apply", "insert", "save",
            "rename", "move", "delete", "remove"}  # fmt: skip
_RUNS = {"run", "bash", "shell", "exec", "execute", "terminal", "command", "cmd", "test", "tests",
         "pytest", "build", "lint", "check", "python", "make"}  # fmt: skip
_SEARCHES = {"search", "grep", "find", "query", "lookup", "rg", "glob", "retrieve"}
_OLD = ("old_string", "old_str", "old_text", "old", "before", "search")
_NEW = ("new_string", "new_str", "new_text", "new", "after", "replace", "replacement")
_WHOLE = ("content", "contents", "file_text", "text", "body")
_TARGETS = ("path", "file_path", "file", "filename", "url", "uri", "command", "cmd", "query",
            "pattern", "name")  # fmt: skip
_SOUGHT = ("query", "pattern", "q", "regex", "text", "search", "term", "keywords")
_RANGE = {"offset", "limit", "start", "end", "line", "lines", "range", "page", "pages",
          "view_range", "start_line", "end_line", "from", "to", "first", "last", "n",
          "max_lines", "length", "size", "head", "tail", "part", "chunk", "cursor"}  # fmt: skip
_STARTS = ("offset", "start_line", "start", "view_range", "lines", "line", "range", "from", "first")
_LENGTHS = {"limit", "max_lines", "length", "size", "head", "n"}
_FIRST = re.compile(r"\s*(\d{1,9})\s*(?:[-:,]|$)")


@dataclass(frozen=True, slots=True)
class Call:
    """`old` and `new` of a change; `new` alone where a whole text was written. `same_as` is equal
    for two calls with the same arguments, `series` for two that differ only in the range.
    `named` is what a list of calls shows: of a search what was searched for. `start` is the row of
    the target at which what was read begins, counted from about 1; None where it is not known."""

    kind: Kind
    tool: str
    target: str
    old: str | None
    new: str | None
    same_as: tuple[Any, ...]
    series: tuple[Any, ...]
    named: str = ""
    start: int | None = None


def read_call(message: Message) -> Call | None:
    """The call that a tool's message answers; None for other messages."""
    if message.role != "tool":
        return None
    args = dict(message.args or {})
    old, new = _text_of(args, _OLD), _text_of(args, _NEW)
    kind = _kind(message.tool or "", old, new)
    if kind == "change" and new is None:
        new = _text_of(args, _WHOLE)
    target = message.target or _text_of(args, _TARGETS) or ""
    key = (message.tool or "", target)
    sought = _text_of(args, _SOUGHT) if kind == "search" else None
    fixed = tuple(sorted((k, repr(v)) for k, v in args.items() if k not in _RANGE))
    ranged = tuple(sorted((k, repr(v)) for k, v in args.items() if k in _RANGE))
    return Call(
        kind,
        *key,
        old,
        new,
        same_as=(*key, fixed, ranged),
        series=(*key, fixed),
        named=sought or target,
        start=_start(args) if kind == "read" else None,
    )


def _start(args: Mapping[str, Any]) -> int | None:
    """Where a reading begins: at the first row where its arguments name no range."""
    if args.keys().isdisjoint(_RANGE):
        return 1
    for name in _STARTS:
        value = args.get(name)
        if isinstance(value, list | tuple) and value:
            value = value[0]
        if isinstance(value, int):
            return value
        if isinstance(value, str) and (first := _FIRST.match(value)):
            return int(first[1])
    return 1 if args.keys() & _RANGE <= _LENGTHS else None


def _kind(tool: str, old: str | None, new: str | None) -> Kind:
    words = {part.lower() for part in _NAME_PARTS.findall(tool)}
    if (old is not None and new is not None) or words & _CHANGES:
        return "change"
    if words & _SEARCHES:
        return "search"
    return "run" if words & _RUNS else "read"


def _text_of(args: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = args.get(name)
        if isinstance(value, str):
            return value
    return None


def changed_rows(old: str, new: str) -> tuple[list[str], list[str]]:
    """The rows that a change took away and brought, without those at both ends that stayed."""
    before, after = old.splitlines(), new.splitlines()
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return before, after


def record(message: Message, call: Call | None, text: str) -> str:
    """The text that is remembered of a message: a change is remembered with what it changed."""
    if call is None or call.kind != "change" or call.new is None:
        return text
    if call.old is None:
        return "\n".join(part for part in (text, call.new) if part.strip())
    before, after = changed_rows(call.old, call.new)
    rows = [*(f"- {row}" for row in before), *(f"+ {row}" for row in after)]
    return "\n".join([*rows, text] if text.strip() else rows)
