"""Tokens that say when they were written, and the reader who checks that none is missing.

A token is its number within its stream and the machine's clock in milliseconds, so whoever reads it
on the same machine knows how long it has been on its way.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

TOKENS_A_PARAGRAPH = 60
_TOKEN = re.compile(r"(\d+):(\d+)\s")
_EPOCH_MS = 1_700_000_000_000


def now_ms() -> int:
    return int(time.time() * 1_000) - _EPOCH_MS


def token(number: int) -> str:
    end = "\n\n" if number % TOKENS_A_PARAGRAPH == TOKENS_A_PARAGRAPH - 1 else " "
    return f"{number}:{now_ms()}{end}"


@dataclass(slots=True)
class StampReader:
    """Follows one stream. `heard` holds (when it was read, how long it took) in milliseconds."""

    heard: list[tuple[int, int]] = field(default_factory=list)
    n_reordered: int = 0
    _numbers: set[int] = field(default_factory=set)
    _next: int = 0
    _rest: str = ""

    def feed(self, text: str) -> None:
        now = now_ms()
        text = self._rest + text
        end = 0
        for found in _TOKEN.finditer(text):
            end = found.end()
            self._take(int(found[1]), now, int(found[2]))
        self._rest = text[end:]

    def _take(self, number: int, now: int, written: int) -> None:
        if number != self._next or number in self._numbers:
            self.n_reordered += 1
        self._numbers.add(number)
        self._next = number + 1
        self.heard.append((now, now - written))

    def n_lost(self, n_tokens: int) -> int:
        return n_tokens - len(self._numbers)
