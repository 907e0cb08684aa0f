"""The data of a stream of server-sent events, as the WHATWG describes them, from bytes.

The client's own reader builds a checked object for every token, which costs more than all else that
a token goes through; what servers send has to be looked at with care anyway.
"""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")


class EventReader:
    """Takes bytes however they are cut and gives the data of each event that is complete."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        *lines, self._rest = _lines(self._rest + received)
        return self._read(lines)

    def close(self) -> list[bytes]:
        """The last event, which careless servers do not end with an empty line."""
        lines, self._rest = [self._rest.removesuffix(b"\r"), b""], b""
        return self._read(lines)

    def _read(self, lines: list[bytes]) -> list[bytes]:
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                events.append(b"\n".join(self._data))
                self._data = []
        return events


def _lines(text: bytes) -> list[bytes]:
    """The lines and what follows the last line end. A return at the end may be half of one."""
    if b"\r" not in text:
        return text.split(b"\n")
    if not text.endswith(b"\r"):
        return _LINE_END.split(text)
    lines = _LINE_END.split(text[:-1])
    return [*lines[:-1], lines[-1] + b"\r"]
