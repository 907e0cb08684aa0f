"""Which lines of tool output are still so: bookkeeping at write time, line by line.

A second reading of a target closes the lines of the first that it covers and no longer holds. What
it covers is known from the arguments when they are the same, else from the lines that both hold:
their places fix how the two lie against each other, so a part read again closes nothing outside
it. A change brings the lines that were read before up to date. The same command run again closes
what it no longer prints. A call that failed closes nothing, except that a command's failure is its
new outcome. Nothing is deleted: what is closed says by which message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

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
        self._targets: dict[str, _Target] = {}

    def note(self, call: Call, rows: Sequence[Row], *, ok: bool) -> Closing:
        """Take in what a call answered and return what that closes."""
        closing = Closing()
        target = self._targets.setdefault(call.target, _Target())
        if not ok and call.kind != "run":
            return closing
        if call.kind == "change" and call.old is not None and call.new is not None:
            target.change(call.old, call.new, closing)
            written = [_written(row) for row in rows if row.text[:2] == "+ "]
            target.add(_Reading(call, written))
        else:
            target.cover(call, rows, closing)
            target.add(_Reading(call, list(rows)))
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
        if any(not row.closed for row in kept):
            self._targets.setdefault(call.target, _Target()).add(_Reading(call, kept))


def _written(row: Row) -> Row:
    """A row that a change wrote: a later change can close it."""
    return Row(row.row, row.text[2:].strip())


class _Target:
    """The readings of one target that are still so, at least in part, by their numbers; and where
    in them every text is, so that a new reading looks at nothing that shares no row with it."""

    def __init__(self) -> None:
        self.readings: dict[int, _Reading] = {}
        self._n_readings = 0
        self._same: dict[tuple[Any, ...], list[int]] = {}
        self._places: dict[str, dict[int, int]] = {}

    def add(self, reading: _Reading) -> None:
        number = self._n_readings
        self._n_readings += 1
        self.readings[number] = reading
        self._same.setdefault(reading.call.same_as, []).append(number)
        self._place(number, reading)

    def _place(self, number: int, reading: _Reading) -> None:
        for at, row in enumerate(reading.rows):
            places = self._places.setdefault(row.text, {})
            places[number] = _TWICE if number in places else at

    def _forget(self, number: int, texts: Iterable[str]) -> None:
        for text in set(texts):
            places = self._places[text]
            del places[number]
            if not places:
                del self._places[text]

    def _drop(self, number: int) -> None:
        reading = self.readings.pop(number)
        self._forget(number, (row.text for row in reading.rows))
        same = self._same[reading.call.same_as]
        same.remove(number)
        if not same:
            del self._same[reading.call.same_as]

    # --- A reading that covers older ones ---

    def cover(self, call: Call, rows: Sequence[Row], closing: Closing) -> None:
        held = {row.text for row in rows}
        for number, covered in sorted(self._covered(call, rows).items()):
            reading = self.readings[number]
            for at in covered:
                row = reading.rows[at]
                if not row.closed and row.text not in held:
                    row.closed = True
                    closing.closed.append(row.row)
            if all(row.closed for row in reading.rows):
                self._drop(number)

    def _covered(self, call: Call, rows: Sequence[Row]) -> dict[int, range]:
        """The part of each earlier reading that a call reads again, by the reading's number."""
        numbers = self.readings if call.kind == "change" else self._same.get(call.same_as, ())
        covered = {number: range(len(self.readings[number].rows)) for number in numbers}
        if call.kind == "change":
            return covered
        for number, pairs in self._shared(rows).items():
            earlier = self.readings[number]
            if number not in covered and _may_overlap(earlier.call, call):
                covered[number] = _overlap(_rising(pairs), len(earlier.rows), len(rows))
        return covered

    def _shared(self, rows: Sequence[Row]) -> dict[int, list[tuple[int, int]]]:
        """By reading the places, there and in the new rows, of texts found once in each."""
        shared: dict[int, list[tuple[int, int]]] = {}
        for text, at in _unique(rows).items():
            for number, place in self._places.get(text, {}).items():
                if place != _TWICE:
                    shared.setdefault(number, []).append((place, at))
        return shared

    # --- A change ---

    def change(self, old: str, new: str, closing: Closing) -> None:
        """Bring the rows that hold the old text up to date."""
        for number, reading in self.readings.items():
            before = [row.text for row in reading.rows]
            if _change(reading, old, new, closing):
                self._forget(number, before)
                self._place(number, reading)


# --- A reading that covers an older one ----------------------------------------------------------

_TWICE = -1


def _may_overlap(earlier: Call, call: Call) -> bool:
    if earlier.kind == "change":
        return False
    return earlier.series == call.series or earlier.kind == call.kind == "read"


def _overlap(fixed: Sequence[tuple[int, int]], n_old: int, n_new: int) -> range:
    """The part of the old rows that the new ones cover: from where the new begin to their end.

    Rows found once in each are fixed points; the first and the last in order place the ends. Two
    parts of one text that only share a few rows do not lie over each other at all.
    """
    if not fixed:
        return range(0)
    (first_old, first_new), (last_old, last_new) = fixed[0], fixed[-1]
    start = max(0, first_old - first_new)
    end = min(n_old, last_old + n_new - last_new)
    agreed = len(fixed) >= _AGREED * (end - start)
    return range(start, end) if agreed else range(0)


def _unique(rows: Sequence[Row]) -> dict[str, int]:
    """The places of the texts that occur once, in order."""
    times = Counter(row.text for row in rows)
    return {row.text: at for at, row in enumerate(rows) if times[row.text] == 1}


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


def _change(reading: _Reading, old: str, new: str, closing: Closing) -> bool:
    """Whether rows held the old text: the first gets the new, the rest close."""
    if "\n" not in old.strip("\n"):
        return _change_inside(reading, old.strip("\n"), new.strip("\n"), closing)
    before, after = changed_rows(old, new)
    wanted = [row.strip() for row in before if row.strip()]
    fresh = "\n".join(row.rstrip() for row in after if row.strip())
    for at in range(len(reading.rows)):
        end = _match(reading.rows, at, wanted)
        if end > at:
            _renew(reading.rows[at:end], wanted, fresh, closing)
            return True
    return False


def _change_inside(reading: _Reading, old: str, new: str, closing: Closing) -> bool:
    changed = False
    if not old.strip():
        return changed
    for row in reading.rows:
        if not row.closed and old.strip() in row.text:
            row.text = row.text.replace(old.strip(), new.strip(), 1).strip()
            closing.texts[row.row] = row.text
            changed = True
            if not row.text:
                row.closed = True
                closing.closed.append(row.row)
    return changed


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
