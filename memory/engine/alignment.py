"""How two readings of one target lie against each other, line by line.

A line can hold several rows of text, and the same text be cut into other lines where a reading
begins or ends inside a bracket: places and parts are counted in rows of text, blank ones left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from memory.engine.lines import JOINED_LINES

Pair = tuple[int, int]
"""The numbers of a line in the old reading and of the same line in the new one."""


@dataclass(slots=True)
class Row:
    """One line of a reading: its row in the layout, its text as it is believed to be now, and `at`,
    the rows of text before it, blank ones counted."""

    row: int
    text: str
    closed: bool = False
    at: int = 0


@dataclass(frozen=True, slots=True)
class Overlap:
    """The part of an old reading that a new one covers, in rows of text, and by how many lines in
    order that is known."""

    covered: range
    n_fixed: int


def overlap(pairs: Sequence[Pair], old_at: Sequence[int], new_at: Sequence[int]) -> Overlap:
    """From where the new reading begins to its end: of the lines found once in each, the first and
    the last in order place the two. `old_at` and `new_at` are their `places`."""
    fixed = _rising(pairs)
    if not fixed:
        return Overlap(range(0), 0)
    (first_old, first_new), (last_old, last_new) = fixed[0], fixed[-1]
    start = max(0, old_at[first_old] - new_at[first_new])
    end = min(old_at[-1], old_at[last_old] + new_at[-1] - new_at[last_new])
    return Overlap(range(start, end), len(fixed))


def lines_of(covered: range, at: Sequence[int]) -> range:
    """The lines that reach into a part of a reading."""
    return range(bisect_right(at, covered.start) - 1, bisect_left(at, min(covered.stop, at[-1])))


def inside(
    rows: Sequence[Row], at: Sequence[int], covered: range
) -> Iterator[tuple[Row, list[str]]]:
    """The lines that reach into a part, each with those of its rows of text that lie in it."""
    for number in lines_of(covered, at):
        first = at[number]
        parts = _parts(rows[number])
        yield rows[number], parts[max(0, covered.start - first) : covered.stop - first]


def text_of(rows: Sequence[Row]) -> str:
    return framed([part for row in rows for part in _parts(row)])


def framed(parts: Sequence[str]) -> str:
    """Rows of text as one text: some are in others where they stand there in one piece."""
    return "\n".join(["", *parts, ""])


def once(rows: Sequence[Row], cut: Collection[int]) -> dict[str, int]:
    """The places of the texts that occur once, in order, but for the lines that are `cut` off."""
    times = Counter(row.text for row in rows)
    return {row.text: at for at, row in enumerate(rows) if times[row.text] == 1 and at not in cut}


def cut_off(rows: Sequence[Row]) -> set[int]:
    """The lines at both ends that may be part of a statement whose rest is not in this reading:
    such a part may stand elsewhere, too."""
    n = len(rows)
    first, last = range(min(JOINED_LINES, n)), range(max(0, n - JOINED_LINES), n)
    closing = [at for at in first if _balance(rows[at].text) < 0]
    opening = [at for at in last if _balance(rows[at].text) > 0]
    return {*range(closing[-1] + 1 if closing else 0), *range(opening[0] if opening else n, n)}


def _balance(text: str) -> int:
    """How many brackets are open at the end of a text; below zero, how many closed too often."""
    return sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))


def places(rows: Sequence[Row]) -> list[int]:
    """Where each line begins in rows of text, and where the last ends."""
    return list(accumulate((len(_parts(row)) for row in rows), initial=0))


def _parts(row: Row) -> list[str]:
    text = row.text
    return [part for part in text.split("\n") if part] if not text or "\n" in text else [text]


def _rising(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs in order in both texts: each next one is taken if it lies behind the last and its
    shift is that of its neighbour before or after, so that one stray row cannot misplace all."""
    kept: list[Pair] = []
    for number, (old, new) in enumerate(pairs):
        beside = [*pairs[max(0, number - 1) : number], *pairs[number + 1 : number + 2]]
        near = [abs((old - new) - (other - place)) <= 12 for other, place in beside]
        if (not near or any(near)) and (not kept or old > kept[-1][0]):
            kept.append((old, new))
    return kept
