"""Reading the arguments of a tool call as models really write them.

Strict JSON first; then the object inside prose, a fence or think tags; then what is complete of
a text that breaks off. jiter reads unfinished JSON, which the standard library cannot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jiter

from chat.agent.errors import ToolError

_END_OF_THOUGHTS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_OBJECT = re.compile(r'\{\s*["}]')
# A string is matched whole, so that what only looks like a comma before a bracket is left alone.
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_HALF_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")


def parse_arguments(raw: str) -> Mapping[str, Any]:
    """The object that `raw` holds; the complete fields of it if it breaks off.

    Nothing at all means no arguments. Raises ToolError, whose text tells the model what to send.
    """
    for text in (raw, _object_in(raw)):
        found = _read(text)
        if isinstance(found, str):
            found = _read(found)
        if isinstance(found, dict):
            return found
    if raw.strip() in {"", "null"}:
        return {}
    raise ToolError(
        'The arguments were not readable. Send one JSON object, such as {"query": "…"}, '
        "and nothing round it."
    )


def _object_in(raw: str) -> str:
    """From the first object after any thoughts, mended where models commonly slip."""
    thoughts = [0, *(found.end() for found in _END_OF_THOUGHTS.finditer(raw))]
    begin = _OBJECT.search(raw, thoughts[-1])
    if not begin:
        return ""
    return _HALF_PAIR.sub("�", _STRING_OR_COMMA.sub(_mended, raw[begin.start() :]))


def _mended(found: re.Match[str]) -> str:
    if found[0] == ",":
        return ""
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", found[0])


def _read(text: str) -> Any:
    data = text.encode("utf-8", "replace")
    try:
        return jiter.from_json(data, partial_mode="on", allow_inf_nan=False)
    except ValueError:
        return None
