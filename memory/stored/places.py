"""Where the lines of a path are: its layout, from a few bytes a message and, for the blocks that
a question touches, a few a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.engine.columns import Column
from memory.engine.layout import FARTHEST, Layout, above_lengths
from memory.index_models import Block
from memory.stored.chains import Chain, place_of
from memory.stored.formats import BY_USER, COLUMNS, DIRECTORY, JOINS, TALK, Rows, unpacked
from memory.stored.indexing import StaleIndex
from memory.stored.totals import Totals

_REACH = 2 * FARTHEST
"""A line's score rests on the lengths of lines so far away."""


class Places:
    """The parts of a path in order and the rows of each, and the layout of all its lines."""

    def __init__(self, chain: Chain, totals: Totals) -> None:
        self.chain = chain
        blocks = Block.objects.filter(pk__in=chain)
        read = {row[0]: row[1:] for row in blocks.values_list("pk", "first_row", "directory")}
        if len(read) < len(chain):
            raise StaleIndex(chain)
        every = {pk: unpacked(bytes(read[pk][1]), DIRECTORY) for pk in chain}
        pieces = [every[pk][:end] for pk, end in chain.items()]
        last = next(reversed(chain), None)
        self.left_early = {
            pk: end for pk, end in chain.items() if end < len(every[pk]) or pk == last
        }
        self.parts: Rows = np.concatenate([np.zeros(0, DIRECTORY), *pieces])
        n_lines = self.parts["lines"].astype(np.int64)
        if len(self.parts) != totals.n_parts or n_lines.sum() != totals.n_lines:
            raise StaleIndex(chain)
        self.n_rows = totals.n_rows
        self.n_lines_of_part = n_lines
        self.first_row_of_part = np.cumsum(n_lines + 1) - n_lines - 1
        self.first_row_of_block = {pk: read[pk][0] for pk in chain}
        starts = [*self.first_row_of_block.values(), self.n_rows]
        self.end_row_of_block = dict(zip(chain, starts[1:], strict=True))
        self.first_part_of_block = dict(
            zip(chain, np.cumsum([0, *chain.values()]).tolist(), strict=False)
        )
        self.layout = self._laid_out(totals)
        self.cost = np.zeros(totals.n_lines, np.int32)
        self._columns_of: set[int] = set()

    def _laid_out(self, totals: Totals) -> Layout:
        layout, parts, n_lines = Layout(), self.parts, self.n_lines_of_part
        flags = np.repeat(parts["flags"], n_lines)
        is_line = np.ones(self.n_rows, np.bool_)
        is_line[self.first_row_of_part] = False
        layout.message = Column.of(np.repeat(np.arange(len(parts), dtype=np.int32), n_lines + 1))
        layout.is_line = Column.of(is_line)
        layout.rows = Column.of(np.flatnonzero(is_line))
        layout.speaker = Column.of(np.repeat(parts["speaker"].astype(np.int32), n_lines))
        layout.is_talk = Column.of((flags & TALK) > 0)
        layout.by_user = Column.of((flags & BY_USER) > 0)
        layout.has_output = bool(((parts["flags"] & TALK) == 0).any())
        layout.sums = totals.sums
        self._lay_slots(layout)
        return layout

    def _lay_slots(self, layout: Layout) -> None:
        """A slot for each line, and before each group of neighbours a gap."""
        n_lines = self.n_lines_of_part
        groups = np.cumsum((self.parts["flags"] & JOINS) == 0)
        gap = FARTHEST * np.repeat(groups, n_lines)
        slots = np.arange(len(gap), dtype=np.int64) + gap
        n_slots = len(slots) + FARTHEST * (int(groups[-1]) if len(groups) else 0)
        first_slot = self.first_row_of_part - np.arange(len(groups)) + FARTHEST * groups
        slot = np.zeros(self.n_rows, np.int32)
        slot[layout.rows.values] = slots
        end_slot = slot + np.int32(1)
        slot[self.first_row_of_part] = first_slot
        end_slot[self.first_row_of_part] = first_slot + n_lines
        is_shown = np.zeros(n_slots, np.bool_)
        is_shown[slots] = True
        layout.slots, layout.slot = Column.of(slots), Column.of(slot)
        layout.end_slot, layout.is_shown = Column.of(end_slot), Column.of(is_shown)
        layout.length = Column.of(np.zeros(n_slots, np.float32))
        layout.around_length = Column.of(np.zeros(n_slots, np.float64))
        self._heading_length = np.repeat(self.parts["heading"], n_lines)
        self._enclosing_length = np.zeros(len(slots), np.int64)

    # --- The columns of lines --------------------------------------------------------------------

    def fetch_columns(self, rows: NDArray[np.int64]) -> None:
        """Read what the scores of these rows and of all round them rest on."""
        missing = self._blocks_round(rows) - self._columns_of
        self._columns_of |= missing
        # Asked for also where nothing matches, so that every recall takes the same queries.
        blocks = Block.objects.filter(pk__in=missing or {0}).values_list("pk", "columns")
        for pk, columns in blocks:
            self._lay_columns(pk, bytes(columns))
        if missing:
            self._weigh_surroundings()

    def _weigh_surroundings(self) -> None:
        """What stands round every line, of what was read so far."""
        layout = self.layout
        length = layout.length.values.astype(np.float64)
        beside = np.convolve(length, layout.exact_kernel)[FARTHEST:-FARTHEST]
        above = above_lengths(layout.plan, self._heading_length, self._enclosing_length)
        slots = layout.slots.values
        layout.around_length.values[slots] = beside[slots] + above

    def _blocks_round(self, rows: NDArray[np.int64]) -> set[int]:
        """The blocks of the rows' messages and of what lies within reach of them."""
        if not len(rows):
            return set()
        touched = np.zeros(len(self.parts), np.bool_)
        touched[self.layout.message.values[rows]] = True
        numbers = np.flatnonzero(touched)
        first = self.first_row_of_part[numbers] - numbers
        last = self.layout.n_lines - 1
        starts = np.clip(first - _REACH, 0, last)
        stops = np.clip(first + self.n_lines_of_part[numbers] + _REACH, 0, last)
        ends = np.array(list(self.end_row_of_block.values())) - np.cumsum(list(self.chain.values()))
        from_block = np.searchsorted(ends, starts, side="right").tolist()
        to_block = np.searchsorted(ends, stops, side="right").tolist()
        names = list(self.chain)
        pieces = set(zip(from_block, to_block, strict=True))
        return {name for start, end in pieces for name in names[start : end + 1]}

    def _lay_columns(self, block: int, data: bytes) -> None:
        start = self.first_row_of_block[block] - self.first_part_of_block[block]
        n_rows = self.end_row_of_block[block] - self.first_row_of_block[block]
        columns = unpacked(data, COLUMNS)[: n_rows - self.chain[block]]
        stop = start + len(columns)
        layout = self.layout
        layout.length.values[layout.slots.values[start:stop]] = columns["length"]
        self._enclosing_length[start:stop] = self._enclosing(columns)
        layout.end_slot.values[layout.rows.values[start:stop]] += columns["inside"]
        self.cost[start:stop] = columns["cost"]

    @staticmethod
    def _enclosing(columns: Rows) -> NDArray[np.int64]:
        """For every line the summed lengths of the lines that enclose it."""
        lengths, at = columns["length"].astype(np.int64), np.arange(len(columns))
        steps = np.zeros(len(columns) + 1, np.int64)
        np.add.at(steps, at + 1, lengths)
        np.add.at(steps, at + 1 + columns["inside"], -lengths)
        return np.cumsum(steps)[:-1]

    # --- Parts and blocks ------------------------------------------------------------------------

    def numbers_on_path(self, places: Iterable[tuple[int, int]]) -> list[int]:
        """Numbers of parts by block and position; those of other paths have none."""
        return [
            self.first_part_of_block[block] + position
            for block, position in places
            if position < self.chain.get(block, 0)
        ]

    def places_of(self, numbers: Sequence[int]) -> dict[int, int]:
        """The places of parts, each with the part's number."""
        starts = np.array(list(self.first_part_of_block.values()), np.int64)
        blocks = np.array(list(self.chain), np.int64)
        wanted = np.array(numbers, np.int64)
        at = np.searchsorted(starts, wanted, side="right") - 1
        places = place_of(blocks[at], wanted - starts[at])
        return dict(zip(places.tolist(), numbers, strict=True))
