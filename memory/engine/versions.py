"""Which lines of tool output are still so: bookkeeping at write time, line by line.

A second reading of a target closes the lines of the first that it covers and no longer holds. What
it covers is known from the arguments when they are the same, else from the lines that both hold:
their places fix how the two lie against each other, so a part read again closes nothing outside
it. A change brings the lines that were read before up to date. The same command run again closes
what it no longer prints. A call that failed closes nothing, except that a command's failure is its
new outcome. Nothing is deleted: what is closed says by which message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.engine.calls import Call, changed_rows

# Share of the rows in an overlap that must be found in both, or it is none.
_AGREED = 0.3


@dataclass(slots=True)
class Row:
    """One line of a reading: its row in the layout and its text as it is believed to be now."""

    row: int
    text: str
    closed: bool = False


@dataclass(slots=True)
class Closing:
    """What one message did to earlier lines: `closed` rows, `texts` of rows brought up to date."""

    closed: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Reading:
    call: Call
    rows: list[Row]


class Versions:
    def __init__(self) -> None:
        self._readings: dict[str, list[_Reading]] = {}

    def note(self, call: Call, rows: Sequence[Row], *, ok: bool) -> Closing:
        """Take in what a call answered and return what that closes."""
        closing = Closing()
        known = self._readings.setdefault(call.target, [])
        if not ok and call.kind != "run":
            return closing
        if call.kind == "change" and call.old is not None and call.new is not None:
            for reading in known:
                _change(reading, call.old, call.new, closing)
            known.append(_Reading(call, [_written(row) for row in rows if row.text[:2] == "+ "]))
            return closing
        for reading in known:
            _cover(reading, call, rows, closing)
        known[:] = [reading for reading in known if any(not row.closed for row in reading.rows)]
        known.append(_Reading(call, list(rows)))
        return closing

    def resume(self, call: Call, rows: Sequence[Row], closing: Closing, *, ok: bool) -> None:
        """Take up again what a call answered, as `note` left it: `closing` is all that was done
        to its rows since."""
        if not ok and call.kind != "run":
            return
        if call.kind == "change" and call.old is not None and call.new is not None:
            rows = [_written(row) for row in rows if row.text[:2] == "+ "]
        closed = set(closing.closed)
        kept = [Row(r.row, closing.texts.get(r.row, r.text), r.row in closed) for r in rows]
        self._readings.setdefault(call.target, []).append(_Reading(call, kept))


def _written(row: Row) -> Row:
    """A row that a change wrote: a later change can close it."""
    return Row(row.row, row.text[2:].strip())


# --- A reading that covers an older one ----------------------------------------------------------


def _cover(reading: _Reading, call: Call, rows: Sequence[Row], closing: Closing) -> None:
    if reading.call.same_as == call.same_as:
        covered = range(len(reading.rows))
    elif call.kind == "change" or reading.call.kind == "change":
        covered = range(len(reading.rows)) if call.kind == "change" else range(0)
    elif reading.call.series == call.series or _both_read(reading.call, call):
        covered = _overlap([row.text for row in reading.rows], [row.text for row in rows])
    else:
        return
    held = {row.text for row in rows}
    for at in covered:
        row = reading.rows[at]
        if not row.closed and row.text not in held:
            row.closed = True
            closing.closed.append(row.row)


def _both_read(one: Call, two: Call) -> bool:
    return one.kind == two.kind == "read"


def _overlap(old: Sequence[str], new: Sequence[str]) -> range:
    """The part of the old rows that the new ones cover: from where the new begin to their end.

    Rows found once in each are fixed points; the first and the last in order place the ends. Two
    parts of one text that only share a few rows do not lie over each other at all.
    """
    fixed = _fixed_points(old, new)
    if not fixed:
        return range(0)
    (first_old, first_new), (last_old, last_new) = fixed[0], fixed[-1]
    start = max(0, first_old - first_new)
    end = min(len(old), last_old + len(new) - last_new)
    agreed = len(fixed) >= _AGREED * (end - start)
    return range(start, end) if agreed else range(0)


def _fixed_points(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    shared = set(old) & set(new)
    if not shared:
        return []
    places, seen = _unique(old, shared), _unique(new, shared)
    return _rising([(places[text], at) for text, at in seen.items() if text in places])


def _unique(texts: Sequence[str], shared: set[str]) -> dict[str, int]:
    """The places of the shared texts that occur once, in order."""
    places: dict[str, int] = {}
    twice = set()
    for at, text in enumerate(texts):
        if text in shared:
            if text in places:
                twice.add(text)
            places[text] = at
    return {text: at for text, at in places.items() if text not in twice}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs in order in both texts: each next one is taken if it lies behind the last and its
    shift is that of its neighbour before or after, so that one stray row cannot misplace all."""
    kept: list[tuple[int, int]] = []
    for number, (old, new) in enumerate(pairs):
        beside = pairs[max(0, number - 1) : number] + pairs[number + 1 : number + 2]
        near = [abs((old - new) - (other - place)) <= 12 for other, place in beside]
        if (not near or any(near)) and (not kept or old > kept[-1][0]):
            kept.append((old, new))
    return kept


# --- A change ------------------------------------------------------------------------------------


def _change(reading: _Reading, old: str, new: str, closing: Closing) -> None:
    """Bring the rows that hold the old text up to date: the first gets the new, the rest close."""
    if "\n" not in old.strip("\n"):
        _change_inside(reading, old.strip("\n"), new.strip("\n"), closing)
        return
    before, after = changed_rows(old, new)
    wanted = [row.strip() for row in before if row.strip()]
    fresh = "\n".join(row.rstrip() for row in after if row.strip())
    for at in range(len(reading.rows)):
        end = _match(reading.rows, at, wanted)
        if end > at:
            _renew(reading.rows[at:end], wanted, fresh, closing)
            return


def _change_inside(reading: _Reading, old: str, new: str, closing: Closing) -> None:
    if not old.strip():
        return
    for row in reading.rows:
        if not row.closed and old.strip() in row.text:
            row.text = row.text.replace(old.strip(), new.strip(), 1).strip()
            closing.texts[row.row] = row.text
            if not row.text:
                row.closed = True
                closing.closed.append(row.row)


def _match(rows: Sequence[Row], at: int, wanted: Sequence[str]) -> int:
    """Where the wanted rows end if they begin at `at`, else `at`. A line may hold several rows."""
    left = list(wanted)
    end = at
    while left and end < len(rows):
        held = [part.strip() for part in rows[end].text.splitlines()]
        size = min(len(held), len(left))
        if rows[end].closed or not _holds(held, left[:size], last=size == len(left)):
            return at
        left = left[size:]
        end += 1
    return end if not left and wanted else at


def _holds(held: list[str], wanted: list[str], *, last: bool) -> bool:
    """Whether a line's rows are the wanted ones; the last line may hold them among others."""
    if held[: len(wanted)] == wanted:
        return True
    joined, sought = "\n".join(held), "\n".join(wanted)
    return last and sought in joined


def _renew(rows: Sequence[Row], wanted: Sequence[str], fresh: str, closing: Closing) -> None:
    first = rows[0]
    stripped = "\n".join(part.strip() for part in first.text.splitlines())
    sought = "\n".join(wanted)
    first.text = stripped.replace(sought, fresh, 1) if sought in stripped else fresh
    closing.texts[first.row] = first.text
    closed = rows[1:] if first.text else rows
    for row in closed:
        row.closed = True
        closing.closed.append(row.row)
