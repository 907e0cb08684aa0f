"""Which lines of tool output are still so: bookkeeping at write time, line by line.

A second reading of a target closes the lines of the first that it covers and no longer holds. What
it covers is known from the arguments when they are the same, else from the lines that both hold:
their places fix how the two lie against each other, so a part read again closes nothing outside
it. A change brings the lines that were read before up to date. The same command run again closes
what it no longer prints. A call that failed closes nothing, except that a command's failure is its
new outcome. Nothing is deleted: what is closed says by which message.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.engine.alignment import (
    Pair,
    Row,
    cut_off,
    framed,
    inside,
    lines_of,
    once,
    overlap,
    places,
    text_of,
)
from memory.engine.calls import Call, changed_rows

# Share of the lines in an overlap that must be found in both, of those that no other repeats, or it
# is none: parts of a file that read alike lie elsewhere, a change moves what stands behind it by a
# few rows. Chosen on random readings of files that changed and of files that did not.
_AGREED = {"where it was": 0.4, "moved": 0.6, "elsewhere": 0.9}
_FEW = 30
# Fewer lines than these say nothing of a part that lies elsewhere.
_FEWEST = 5


@dataclass(slots=True)
class Closing:
    """What one message did to earlier lines: `closed` rows, `texts` of rows brought up to date."""

    closed: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)


class _Reading:
    def __init__(self, call: Call, rows: list[Row]) -> None:
        self.call = call
        self.rows = rows
        self.renew()

    def renew(self) -> None:
        """Find out anew what its texts say: they were changed."""
        self.cut = cut_off(self.rows)
        self._places: list[int] | None = None

    @property
    def places(self) -> list[int]:
        """Where each line begins in rows of text; not asked for of most readings."""
        if self._places is None:
            self._places = places(self.rows)
        return self._places


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
            reading = _Reading(call, list(rows))
            target.cover(reading, closing)
            target.add(reading)
        return closing

    def resume(self, call: Call, rows: Sequence[Row], closing: Closing, *, ok: bool) -> None:
        """Take up again what a call answered, as `note` left it: `closing` is all that was done
        to its rows since."""
        if not ok and call.kind != "run":
            return
        if call.kind == "change" and call.old is not None and call.new is not None:
            rows = [_written(row) for row in rows if row.text[:2] == "+ "]
        closed = set(closing.closed)
        kept = [Row(r.row, closing.texts.get(r.row, r.text), r.row in closed, r.at) for r in rows]
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
            known = self._places.setdefault(row.text, {})
            known[number] = _NO_PLACE if number in known or at in reading.cut else at

    def _forget(self, number: int, texts: Iterable[str]) -> None:
        for text in set(texts):
            known = self._places[text]
            del known[number]
            if not known:
                del self._places[text]

    def _drop(self, number: int) -> None:
        reading = self.readings.pop(number)
        self._forget(number, (row.text for row in reading.rows))
        same = self._same[reading.call.same_as]
        same.remove(number)
        if not same:
            del self._same[reading.call.same_as]

    # --- A reading that covers older ones ---

    def cover(self, new: _Reading, closing: Closing) -> None:
        held = {row.text for row in new.rows}
        text = ""
        for number, covered in sorted(self._covered(new).items()):
            reading = self.readings[number]
            n_closed = len(closing.closed)
            for row, read_again in inside(reading.rows, reading.places, covered):
                if row.closed or row.text in held:
                    continue
                text = text or text_of(new.rows)
                if framed(read_again) not in text:
                    row.closed = True
                    closing.closed.append(row.row)
            if len(closing.closed) > n_closed and all(row.closed for row in reading.rows):
                self._drop(number)

    def _covered(self, new: _Reading) -> dict[int, range]:
        """The part of each earlier reading that a call reads again, by the reading's number."""
        call = new.call
        numbers = self.readings if call.kind == "change" else self._same.get(call.same_as, ())
        covered = dict.fromkeys(numbers, _ALL)
        if call.kind == "change":
            return covered
        for number, pairs in self._shared(new).items():
            if number not in covered and _may_overlap(self.readings[number].call, call):
                part = self._overlap(number, pairs, new)
                if part:
                    covered[number] = part
        return covered

    def _shared(self, new: _Reading) -> dict[int, list[Pair]]:
        """By reading the places, there and in the new rows, of texts found once in each."""
        shared: dict[int, list[Pair]] = {}
        for text, at in once(new.rows, new.cut).items():
            for number, place in self._places.get(text, {}).items():
                if place != _NO_PLACE:
                    shared.setdefault(number, []).append((place, at))
        return shared

    def _overlap(self, number: int, pairs: Sequence[Pair], new: _Reading) -> range:
        """The part of an earlier reading that shares lines with a new one, where it is the same
        place of the target and not another that reads alike."""
        earlier = self.readings[number]
        moves = [_moved(earlier, new, pair) for pair in pairs]
        near = [pair for pair, rows_on in zip(pairs, moves, strict=True) if abs(rows_on) <= _FEW]
        if not near and len(pairs) < _FEWEST:
            return range(0)
        found = overlap(near or pairs, earlier.places, new.places)
        agreed = _AGREED["where it was" if 0 in moves else "moved" if near else "elsewhere"]
        n_alone = sum(
            self._places[earlier.rows[line].text].get(number, _NO_PLACE) != _NO_PLACE
            for line in lines_of(found.covered, earlier.places)
        )
        return found.covered if found.n_fixed >= agreed * n_alone else range(0)

    # --- A change ---

    def change(self, old: str, new: str, closing: Closing) -> None:
        """Bring the rows that hold the old text up to date."""
        for number, reading in self.readings.items():
            before = [row.text for row in reading.rows]
            if _change(reading, old, new, closing):
                reading.renew()
                self._forget(number, before)
                self._place(number, reading)


# --- A reading that covers an older one ----------------------------------------------------------

_NO_PLACE = -1
_ALL = range(sys.maxsize)


def _may_overlap(earlier: Call, call: Call) -> bool:
    if earlier.kind == "change":
        return False
    return earlier.series == call.series or earlier.kind == call.kind == "read"


def _moved(earlier: _Reading, new: _Reading, pair: Pair) -> int:
    """By how many rows a line that two readings hold has moved, by where they say that they begin;
    0 where one does not say it."""
    if earlier.call.start is None or new.call.start is None:
        return 0
    there, here = earlier.rows[pair[0]].at, new.rows[pair[1]].at
    return new.call.start + here - earlier.call.start - there


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
