"""How the lines of a history lie: what encloses what, what stands beside what.

Every message brings one row that is never shown, its heading (speaker, date, tool, target), and
one row a line after it. Row numbers are the document numbers of the index. A position counts the
shown rows only. A slot is a place where lines are weighed: neighbours have neighbouring slots, and
between lines that are no neighbours so many slots are empty that no weight reaches across. All is
kept in columns that grow, so that the ranking treats all lines at once and nothing is gathered
anew: what a line's surroundings weigh is summed up when they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.columns import Column
from memory.engine.index import Floats
from memory.engine.plan import Plan

Exact: TypeAlias = NDArray[np.float64]

FARTHEST = 4
"""The greatest distance at which lines are neighbours."""


@dataclass(slots=True)
class LengthSums:
    """Running totals of the lengths of all lines and of what surrounds them. Whole numbers: they
    come out the same in whatever pieces they were added. `tail`: the last lengths of the group."""

    own: int = 0
    heading: int = 0
    enclosing: int = 0
    before: list[int] = field(default_factory=lambda: [0] * FARTHEST)
    after: list[int] = field(default_factory=lambda: [0] * FARTHEST)
    tail: list[int] = field(default_factory=list)

    def add(
        self, lengths: Sequence[int], heading: int, enclosing: Sequence[int], *, joins: bool
    ) -> None:
        tail = self.tail if joins else []
        held = [*tail, *lengths]
        for distance in range(1, FARTHEST + 1):
            first = max(len(tail), distance)
            later = held[first:]
            self.after[distance - 1] += sum(later)
            self.before[distance - 1] += sum(held[first - distance :][: len(later)])
        self.own += sum(lengths)
        self.heading += heading * len(lengths)
        self.enclosing += sum(enclosing)
        self.tail = held[-FARTHEST:]

    def average(self, plan: Plan, n_lines: int) -> float:
        """The mean length of a line with its surroundings, by the weights of the plan."""
        total = self.own + plan.enclosing * self.enclosing + plan.heading * self.heading
        total += sum(w * length for w, length in zip(plan.before, self.before, strict=False))
        total += sum(w * length for w, length in zip(plan.after, self.after, strict=False))
        return total / max(n_lines, 1)


class Layout:
    """Columns by row: `message`, `is_line`, `slot` (of a heading that of its message's first line)
    and `end_slot` (the slot after the last line that it encloses). Columns by position: `rows`,
    `slots`, `speaker`, `is_talk`, `by_user`. Columns by slot: `is_shown`, `length` (the terms of
    the line) and `around_length` (the terms of its surroundings by the plan's weights)."""

    def __init__(self, plan: Plan | None = None) -> None:
        self.plan = plan or Plan()
        if max(len(self.plan.before), len(self.plan.after)) > FARTHEST:
            raise ValueError(f"lines further apart than {FARTHEST} are no neighbours")
        self.kernel = _kernel(self.plan)
        self.exact_kernel: Exact = self.kernel.astype(np.float64)
        self.message = Column(np.int32)
        self.is_line = Column(np.bool_)
        self.slot = Column(np.int32)
        self.end_slot = Column(np.int32)
        self.rows = Column(np.int64)
        self.slots = Column(np.int64)
        self.speaker = Column(np.int32)
        self.is_talk = Column(np.bool_)
        self.by_user = Column(np.bool_)
        self.is_shown = Column(np.bool_)
        self.length = Column(np.float32)
        self.around_length = Column(np.float64)
        self.has_output = False
        self.sums = LengthSums()

    @property
    def n_rows(self) -> int:
        return self.message.size

    @property
    def n_lines(self) -> int:
        return self.rows.size

    @property
    def n_slots(self) -> int:
        return self.is_shown.size

    @property
    def mean_length(self) -> float:
        """The mean of `around_length` over all lines, kept as they come; 1 where there is none."""
        return self.sums.average(self.plan, self.n_lines) or 1.0

    def add(
        self,
        message: int,
        *,
        heading_length: int,
        lengths: Sequence[int],
        n_inside: Sequence[int],
        speaker: int,
        is_talk: bool,
        by_user: bool,
        joins_group: bool,
    ) -> None:
        """Rows of one message. `joins_group`: its lines are neighbours of those before it."""
        first, n = self.n_rows, len(lengths)
        if not joins_group or not first:
            self._leave_gap()
        slot = self.n_slots
        self.message.extend(message, n + 1)
        self.is_line.extend(True, n + 1)
        self.is_line.values[first] = False
        self.slot.extend(np.maximum(np.arange(slot - 1, slot + n), slot), n + 1)
        ends = [slot + n, *(slot + at + inside + 1 for at, inside in enumerate(n_inside))]
        self.end_slot.extend(ends, n + 1)
        self.rows.extend(np.arange(first + 1, first + 1 + n), n)
        self.slots.extend(np.arange(slot, slot + n), n)
        self.speaker.extend(speaker, n)
        self.is_talk.extend(is_talk, n)
        self.by_user.extend(by_user, n)
        enclosing = enclosing_lengths(lengths, n_inside)
        self.sums.add(lengths, heading_length, enclosing, joins=joins_group)
        self.has_output = self.has_output or not is_talk
        self._add_lengths(lengths, above_lengths(self.plan, heading_length, enclosing))

    def _leave_gap(self) -> None:
        self.is_shown.extend(False, FARTHEST)
        self.length.extend(0, FARTHEST)
        self.around_length.extend(0, FARTHEST)

    def _add_lengths(self, lengths: Sequence[int], above: Exact) -> None:
        """What the new lines weigh with what stands round them, and what they add to the last."""
        n = len(lengths)
        if not n:
            return
        self.is_shown.extend(True, n)
        self.length.extend(lengths, n)
        self.around_length.extend(above, n)
        start = self.n_slots - n
        seen = self.length.values[start - FARTHEST :].astype(np.float64)
        given = np.convolve(seen[FARTHEST:], self.exact_kernel)[:FARTHEST]
        given *= self.is_shown.values[start - FARTHEST : start]
        own = np.convolve(seen, self.exact_kernel)[2 * FARTHEST : 2 * FARTHEST + n]
        self.around_length.values[start - FARTHEST : start] += given
        self.around_length.values[start:] += own

    def position(self, row: int) -> int:
        """The position of a shown row."""
        return row - int(self.message.at(row)) - 1


def _kernel(plan: Plan) -> Floats:
    """What a value gives to the slots round its own, from the farthest before it on."""
    kernel = np.zeros(2 * FARTHEST + 1, np.float32)
    kernel[FARTHEST] = 1
    for distance, weight in enumerate(plan.before, 1):
        kernel[FARTHEST + distance] = weight
    for distance, weight in enumerate(plan.after, 1):
        kernel[FARTHEST - distance] = weight
    return kernel


def above_lengths(plan: Plan, heading_length: Any, enclosing: Any) -> Exact:
    """What the heading and the enclosing lines add to the length of lines. Exact, as the weights
    have few digits: the same in whatever pieces it is added."""
    weighed: Exact = np.float64(np.float32(plan.heading)) * np.asarray(heading_length, np.float64)
    return weighed + np.float64(np.float32(plan.enclosing)) * np.asarray(enclosing, np.float64)


def enclosing_lengths(lengths: Sequence[int], n_inside: Sequence[int]) -> list[int]:
    """For every line the summed lengths of the lines that enclose it."""
    sums = []
    open_lines: list[tuple[int, int]] = []
    for at, (length, inside) in enumerate(zip(lengths, n_inside, strict=True)):
        while open_lines and open_lines[-1][0] < at:
            open_lines.pop()
        total = open_lines[-1][1] if open_lines else 0
        sums.append(total)
        if inside:
            open_lines.append((at + inside, total + length))
    return sums
