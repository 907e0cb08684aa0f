"""Counting a model's tokens: what a counter is, and a safe estimate where none is at hand.

A token is a unit that the model counts; a term is a unit of search (`terms.py`). Never swapped.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
    n_tokens = _short(text) if len(text) < _LONG else _long(text)
    if text.isascii():
        return n_tokens
    return n_tokens + len(_NEAR.findall(text)) + (3 * len(_FAR.findall(text)) + 1) // 2


def _short(text: str) -> int:
    """Tokens of what is ASCII in a text, by matching pieces."""
    gaps = _GAPS.findall(text)
    return len(_PIECES.findall(text)) + sum(1 + len(gap) // 16 for gap in gaps)


def _long(text: str) -> int:
    """The same by the lengths of runs, many times faster where there are many."""
    kinds = np.frombuffer(text.encode("utf-8", "surrogatepass").translate(_KINDS), np.int8)
    changes = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
    edges = np.concatenate(([0], changes, [len(kinds)]))
    lengths, kind = np.diff(edges), kinds[edges[:-1]]
    shift = _SHIFTS[kind]
    n_tokens = int(((lengths + (1 << shift) - 1 >> shift)[kind > _GAP]).sum())
    gaps = lengths[kind == _GAP]
    return n_tokens + int((1 + gaps[gaps > 1] // 16).sum())


_LONG = 400
_NOTHING, _GAP = 0, 1


def _tables() -> tuple[bytes, NDArray[np.int64]]:
    """For every byte its kind, for every kind how long a token of it is, as a power of two."""
    kinds = np.full(256, _NOTHING, np.int8)
    for kind, chars in enumerate((string.ascii_letters, string.digits, string.punctuation), 2):
        kinds[[ord(char) for char in chars]] = kind
    kinds[[ord(char) for char in " \t\r\f\v"]] = _GAP
    kinds[ord("\n")] = 5
    kinds[[*range(9), *range(14, 32), 127]] = 6
    return kinds.tobytes(), np.array([0, 0, 2, 1, 1, 40, 0])


_KINDS, _SHIFTS = _tables()
