"""How the lines of a history lie: what encloses what, what stands beside what.

Every message brings one row that is never shown, its heading (speaker, date, tool, target), and
one row a line after it. Row numbers are the document numbers of the index. A position counts the
shown rows only, so that neighbours are neighbours though a heading lies between. All is kept in
columns that grow, so that the ranking treats all lines at once and nothing is gathered anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory.engine.columns import Column
from memory.engine.index import Floats
from memory.engine.plan import Plan

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
    """Columns by row: `message`, `is_line`, `inside_end` (the row after the last that it encloses).
    Columns by position: `rows`, `speaker`, `is_talk`, `by_user`, and the numbers of terms in the
    line (`length`), in its message's heading, and in the lines that enclose it."""

    def __init__(self) -> None:
        self.message = Column(np.int32)
        self.is_line = Column(np.bool_)
        self.inside_end = Column(np.int32)
        self.rows = Column(np.int64)
        self.speaker = Column(np.int32)
        self.is_talk = Column(np.bool_)
        self.by_user = Column(np.bool_)
        self.length = Column(np.float32)
        self.heading_length = Column(np.float32)
        self.enclosing_length = Column(np.float32)
        self.has_output = False
        self.sums = LengthSums()
        self._group = Column(np.int32)
        self._n_groups = 0
        # 1 where the line so far back is a neighbour, by distance.
        self._back = [Column(np.float32) for _ in range(FARTHEST)]

    @property
    def n_rows(self) -> int:
        return self.message.size

    @property
    def n_lines(self) -> int:
        return self.rows.size

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
        if not joins_group:
            self._n_groups += 1
        self.message.extend(message, n + 1)
        self.is_line.extend([False, *[True] * n], n + 1)
        ends = [first + 1 + n, *(first + 2 + at + inside for at, inside in enumerate(n_inside))]
        self.inside_end.extend(ends, n + 1)
        start = self.n_lines
        self.rows.extend(np.arange(first + 1, first + 1 + n), n)
        self.speaker.extend(speaker, n)
        self.is_talk.extend(is_talk, n)
        self.by_user.extend(by_user, n)
        self.length.extend(lengths, n)
        self.heading_length.extend(heading_length, n)
        enclosing = enclosing_lengths(lengths, n_inside)
        self.enclosing_length.extend(enclosing, n)
        self.sums.add(lengths, heading_length, enclosing, joins=joins_group)
        self.has_output = self.has_output or not is_talk
        self._extend_groups(start, n)

    def _extend_groups(self, start: int, n: int) -> None:
        self._group.extend(self._n_groups, n)
        group = self._group.values
        for distance, back in enumerate(self._back, 1):
            at = np.arange(start, start + n)
            same = (at >= distance) & (group[np.maximum(at - distance, 0)] == self._n_groups)
            back.extend(same, n)

    def set_groups(self, group: NDArray[np.int64]) -> None:
        """Say of all lines at once which are neighbours: those of one group."""
        self._group = Column.of(group.astype(np.int32))
        for distance, _ in enumerate(self._back, 1):
            back = np.zeros(len(group), np.float32)
            back[distance:] = group[distance:] == group[: max(0, len(group) - distance)]
            self._back[distance - 1] = Column.of(back)

    def position(self, row: int) -> int:
        """The position of a shown row."""
        return row - int(self.message.values[row]) - 1

    def around(self, values: Floats, before: Sequence[float], after: Sequence[float]) -> Floats:
        """Every line's own value and those of its neighbours by the weights given."""
        total = values.copy()
        for distance, weight in enumerate(before, 1):
            if distance < len(values):
                back = self._back[distance - 1].values[distance:]
                total[distance:] += np.float32(weight) * (values[:-distance] * back)
        for distance, weight in enumerate(after, 1):
            if distance < len(values):
                back = self._back[distance - 1].values[distance:]
                total[:-distance] += np.float32(weight) * (values[distance:] * back)
        return total

    def scatter(
        self,
        at: NDArray[np.int64],
        values: Floats,
        before: Sequence[float],
        after: Sequence[float],
    ) -> Floats:
        """The same from few values at rising positions: as `around` over zeros elsewhere."""
        total: Floats = np.zeros(self.n_lines, np.float32)
        total[at] = values
        for distance, weight in enumerate(before, 1):
            there = at[: np.searchsorted(at, self.n_lines - distance)] + distance
            back = self._back[distance - 1].values[there]
            total[there] += np.float32(weight) * values[: len(there)] * back
        for distance, weight in enumerate(after, 1):
            first = np.searchsorted(at, distance)
            back = self._back[distance - 1].values[at[first:]]
            total[at[first:] - distance] += np.float32(weight) * values[first:] * back
        return total


def _parents(n_inside: Sequence[int]) -> list[int]:
    """For every line the number of the line that encloses it most closely, or -1."""
    parents = [-1] * len(n_inside)
    open_lines: list[tuple[int, int]] = []
    for at, inside in enumerate(n_inside):
        while open_lines and open_lines[-1][1] < at:
            open_lines.pop()
        if open_lines:
            parents[at] = open_lines[-1][0]
        if inside:
            open_lines.append((at, at + inside))
    return parents


def enclosing_lengths(lengths: Sequence[int], n_inside: Sequence[int]) -> list[int]:
    """For every line the summed lengths of the lines that enclose it."""
    sums = [0] * len(lengths)
    for at, parent in enumerate(_parents(n_inside)):
        if parent >= 0:
            sums[at] = sums[parent] + lengths[parent]
    return sums
