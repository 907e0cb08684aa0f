"""Counting a model's tokens: what a counter is, and a safe estimate where none is at hand.

A token is a unit that the model counts; a term is a unit of search (`terms.py`). Never swapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

CountTokens: TypeAlias = Callable[[str], int]
"""Maps a text to the number of its tokens: 0 for the empty text, never negative."""

_PIECES = re.compile(r"[A-Za-z]{1,4}|[0-9]{1,2}|[!-/:-@\[-`{-~]{1,2}|\n+|[\x00-\x08\x0e-\x1f\x7f]")
_GAPS = re.compile(r"[ \t\r\f\v]{2,}")
_NEAR = re.compile("[\x80-\u07ff]")
_FAR = re.compile("[^\x00-\u07ff]")


def estimate_tokens(text: str) -> int:
    """An estimate on the safe side: on whole English texts and code at or above the count of
    the byte-pair and sentence-piece vocabularies in common use, by 10 to 60 %.

    Per piece: four letters a token, two digits, two punctuation marks, every run of line breaks;
    one space is free, longer runs cost one. Letters beyond ASCII: one token each up to U+07FF
    (Greek, Cyrillic, Arabic), one and a half above (Chinese, Thai, Devanagari, emoji), which
    only a vocabulary without these scripts exceeds. Linear; no table is loaded.
    """
    n_tokens = len(_PIECES.findall(text))
    n_tokens += sum(1 + len(gap) // 16 for gap in _GAPS.findall(text))
    if text.isascii():
        return n_tokens
    return n_tokens + len(_NEAR.findall(text)) + (3 * len(_FAR.findall(text)) + 1) // 2
