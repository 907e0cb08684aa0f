"""How columns and postings lie in bytes. A change here or in what the engine finds out about a
message needs a new `VERSION`: an index of another version is built anew."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.dates import Dated, Interval
from memory.engine.lines import Line

VERSION = 3

Rows = NDArray[Any]
"""A structured array of one of the types below."""

POSTING = np.dtype([("row", "<u4"), ("times", "<u2")])
"""A row of the block, headings counted, and how often it holds the term."""
DIRECTORY = np.dtype([("lines", "<u4"), ("heading", "<u4"), ("flags", "u1"), ("speaker", "<i2")])
"""A part: its lines, the terms of its heading, what it is, its speaker's number on the path."""
TALK, BY_USER, JOINS = 1, 2, 4
COLUMNS = np.dtype([("length", "<u2"), ("inside", "<u4"), ("cost", "<u2")])
"""A line: its terms, how many lines it encloses, its tokens (at most `MOST`)."""
SPANS = np.dtype([("start", "<u4"), ("end", "<u4"), ("body", "<u4"), ("inside", "<u4")])
MOST = 65_535
_LONGEST_TERM = 100


def packed(rows: Rows) -> bytes:
    return zlib.compress(rows.tobytes(), 1)


def unpacked(data: bytes, kind: np.dtype[Any]) -> Rows:
    return np.frombuffer(zlib.decompress(data), kind) if data else np.zeros(0, kind)


def appended(data: bytes, rows: Rows) -> bytes:
    return packed(np.concatenate([unpacked(data, rows.dtype), rows]))


def term_key(term: str) -> str:
    """A term as it is kept: long ones end in a hash."""
    if len(term) <= _LONGEST_TERM:
        return term
    return f"{term[: _LONGEST_TERM - 20]}…{short_hash(term)}"


def line_key(bare: str) -> str:
    """What stands for a whole line among the terms: no term begins so."""
    return f"={short_hash(bare)}"


def short_hash(text: str) -> str:
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=12).digest()
    return base64.urlsafe_b64encode(digest).decode()


def spans_of(lines: Sequence[Line]) -> bytes:
    rows = [(line.start, line.end, line.body, line.n_inside) for line in lines]
    return np.array(rows, SPANS).tobytes()


def lines_of(spans: bytes) -> tuple[Line, ...]:
    rows = np.frombuffer(spans, SPANS).tolist()
    return tuple(Line(*row) for row in rows)


def dates_as_json(dates: dict[int, list[Dated]]) -> list[list[Any]] | None:
    rows = [
        [number, one.start, one.end, str(one.when.start), str(one.when.end), one.when.precision]
        for number, found in dates.items()
        for one in found
    ]
    return rows or None


def dates_of(stored: Iterable[Sequence[Any]] | None) -> dict[int, list[Dated]]:
    dates: dict[int, list[Dated]] = {}
    for number, start, end, first, last, precision in stored or ():
        when = Interval(date.fromisoformat(first), date.fromisoformat(last), precision)
        dates.setdefault(number, []).append(Dated(start, end, when))
    return dates
