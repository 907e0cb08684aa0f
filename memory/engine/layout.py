"""How the lines of a history lie: what encloses what, what stands beside what.

Every message brings one row that is never shown, its heading (speaker, date, tool, target), and
one row a line after it. Row numbers are the document numbers of the index. All is kept in columns,
so that the ranking treats all lines at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory.engine.columns import Column
from memory.engine.index import Floats


class Layout:
    """`group`: lines with the same number are neighbours of each other. `length`: terms in the
    line; `heading_length` in its message's heading; `enclosing_length` in what encloses it."""

    def __init__(self) -> None:
        self.message = Column(np.int32)
        self.is_line = Column(np.bool_)
        self.inside_end = Column(np.int32)
        self.group = Column(np.int32)
        self.length = Column(np.float32)
        self.heading_length = Column(np.float32)
        self.enclosing_length = Column(np.float32)
        self.speaker = Column(np.int32)
        self.parent = Column(np.int32)
        self.is_talk = Column(np.bool_)
        self.by_user = Column(np.bool_)
        self._n_groups = 0

    @property
    def size(self) -> int:
        return self.message.size

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
        first = self.size
        n = len(lengths)
        if not joins_group:
            self._n_groups += 1
        self.message.extend(message, n + 1)
        self.is_line.extend([False, *[True] * n], n + 1)
        ends = [first + 1 + n, *(first + 2 + at + inside for at, inside in enumerate(n_inside))]
        self.inside_end.extend(ends, n + 1)
        self.group.extend(self._n_groups, n + 1)
        self.length.extend([0, *lengths], n + 1)
        self.heading_length.extend([0, *[heading_length] * n], n + 1)
        self.enclosing_length.extend([0, *_enclosing(lengths, n_inside)], n + 1)
        self.speaker.extend(speaker, n + 1)
        self.is_talk.extend(is_talk, n + 1)
        self.by_user.extend(by_user, n + 1)
        parents = [-1, *(first + 1 + at if at >= 0 else -1 for at in _parents(n_inside))]
        self.parent.extend(parents, n + 1)


def _parents(n_inside: Sequence[int]) -> list[int]:
    """For every line the number of the line that encloses it most closely, or -1."""
    parents = [-1] * len(n_inside)
    for at, inside in enumerate(n_inside):
        parents[at + 1 : at + 1 + inside] = [at] * inside
    return parents


def _enclosing(lengths: Sequence[int], n_inside: Sequence[int]) -> list[int]:
    """For every line the summed lengths of the lines that enclose it."""
    sums = [0] * len(lengths)
    open_lines: list[tuple[int, int]] = []
    for at, (length, inside) in enumerate(zip(lengths, n_inside, strict=True)):
        while open_lines and open_lines[-1][0] < at:
            open_lines.pop()
        above = open_lines[-1][1] if open_lines else 0
        sums[at] = above
        if inside:
            open_lines.append((at + inside, above + length))
    return sums


class Lines:
    """The shown rows of a layout, in order, as arrays: what one ranking works on.

    Positions count shown rows only, so that neighbours are neighbours though headings lie between.
    """

    def __init__(self, layout: Layout) -> None:
        self.rows: NDArray[np.int64] = np.flatnonzero(layout.is_line.values)
        self.n_rows = layout.size
        self._group = layout.group.values[self.rows]
        self._beside: dict[int, Floats] = {}
        self.length: Floats = layout.length.values[self.rows]
        self.heading_length: Floats = layout.heading_length.values[self.rows]
        self.enclosing_length: Floats = layout.enclosing_length.values[self.rows]
        self.speaker = layout.speaker.values[self.rows]
        self.message = layout.message.values[self.rows]
        self.has_output = not bool(layout.is_talk.values.all())
        self.by_user = layout.by_user.values[self.rows]

    def beside(self, distance: int) -> Floats:
        """1 for every position whose line `distance` further on is its neighbour, else 0."""
        if distance not in self._beside:
            same = self._group[distance:] == self._group[:-distance]
            self._beside[distance] = same.astype(np.float32)
        return self._beside[distance]

    def around(self, values: Floats, before: Sequence[float], after: Sequence[float]) -> Floats:
        """Every line's own value and those of its neighbours by the weights given."""
        total = values.copy()
        for distance, weight in enumerate(before, 1):
            if distance < len(values):
                total[distance:] += np.float32(weight) * values[:-distance] * self.beside(distance)
        for distance, weight in enumerate(after, 1):
            if distance < len(values):
                total[:-distance] += np.float32(weight) * values[distance:] * self.beside(distance)
        return total
