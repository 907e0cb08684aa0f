"""The lexical ranking of a history's lines against a question.

BM25 over each line in its surroundings: a term counts fully in the line and in the heading of its
message (speaker, date, tool, target), and in part in the lines beside it and in those that enclose
it. What is shown is always the bare line. Deviation from the textbook: the frequency of a term and
the length of a line are the weighted sums over these surroundings; the formula is the same.

Only the slots that terms reach are looked at, and many terms are counted at once: one by one, over
all slots, their calls and arrays would take longer than what they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import K1, B, Floats, LineIndex, Numbers, idf
from memory.engine.layout import FARTHEST, Layout

Places: TypeAlias = NDArray[np.int64]

_PAD = FARTHEST + 1
_AT_ONCE = 32_000
"""So many cells are counted at once, about: arrays that small are used again and again."""
_PARTS = 2**12
"""What is added and taken away again is counted in such parts: whole numbers leave nothing over,
and are summed up several times faster."""


class _Term(NamedTuple):
    """A term of the question: the rows that hold it, rising, how often each, and its weight."""

    rows: Numbers
    counts: Numbers
    weight: float


def word_scores(
    index: LineIndex,
    layout: Layout,
    terms: Mapping[str, float],
    alone: Mapping[str, float] = MappingProxyType({}),
) -> Floats:
    """The score of every shown line for weighted terms; 0 where none of them is near. The terms
    `alone` count in the lines that have them and not round those."""
    scores = np.zeros(layout.n_slots + _PAD, np.float32)
    if layout.n_lines:
        norms = _norms(layout)
        for batch in _batches(_terms(index, terms)):
            _add(scores, norms, layout, batch)
        for term in _terms(index, alone):
            _add_alone(scores, norms, layout, term)
    by_position: Floats = scores.take(layout.slots.values)
    return by_position


def _terms(index: LineIndex, weights: Mapping[str, float]) -> list[_Term]:
    """Where each term is. A word and its beginning are often in the same lines: terms that no line
    tells apart are counted once, with their weights together."""
    found: dict[tuple[bytes, bytes], _Term] = {}
    for name, weight in weights.items():
        rows, counts = index.tf(name)
        if len(rows):
            key = rows.tobytes(), counts.tobytes()
            known = found.get(key)
            found[key] = _Term(rows, counts, weight + (known.weight if known else 0.0))
    return list(found.values())


def _batches(terms: Sequence[_Term]) -> Iterator[list[_Term]]:
    """The terms by so many that the slots which they reach are about `_AT_ONCE`."""
    batch: list[_Term] = []
    n_cells = 0
    for term in terms:
        most = (_PAD + FARTHEST) * len(term.rows)
        if batch and n_cells + most > _AT_ONCE:
            yield batch
            batch, n_cells = [], 0
        batch.append(term)
        n_cells += most
    if batch:
        yield batch


def _norms(layout: Layout) -> Floats:
    """What the length of a line adds below the fraction line, by slot; no end where none is."""
    share = np.float32(K1 * B / layout.mean_length)
    lengths = layout.around_length.values.astype(np.float32)
    norms = np.full(layout.n_slots + _PAD, np.inf, np.float32)
    np.multiply(lengths, share, out=norms[:-_PAD])
    norms[:-_PAD] += np.float32(K1 * (1 - B))
    norms[np.flatnonzero(~layout.is_shown.values)] = np.inf
    return norms


def _add(scores: Floats, norms: Floats, layout: Layout, terms: Sequence[_Term]) -> None:
    """Add what terms give. Every slot that a term reaches is a cell, term after term, slots rising.
    What lies between is left out, so that cells side by side may lie far apart; they are never
    nearer to each other's counts than a weight reaches."""
    rows = np.concatenate([term.rows for term in terms])
    n_rows = np.array([len(term.rows) for term in terms])
    # All terms in one row of slots, as if each had a layout of its own behind that of the last.
    apart = (np.arange(len(terms)) * len(norms)).repeat(n_rows)
    slots = layout.slot.values.take(rows) + apart
    ends = layout.end_slot.values.take(rows) + apart
    stops = np.maximum.accumulate(np.maximum(slots + _PAD, ends))
    starts = slots - FARTHEST
    np.maximum(starts[1:], stops[:-1], out=starts[1:])
    n_new = stops - starts
    last = n_new.cumsum()
    moved = last - stops  # from a slot to its cell
    sizes = np.diff(last.take(n_rows.cumsum() - 1), prepend=0)
    cells = np.arange(last[-1]) - (moved + apart).repeat(n_new)
    counts = np.concatenate([term.counts for term in terms])
    tf = _counted(layout, rows, counts, slots + moved, ends + moved, len(cells))
    tf /= tf + norms.take(cells)
    df = np.add.reduceat(tf > 0, sizes.cumsum() - sizes, dtype=np.int64)
    weights = np.array([term.weight for term in terms]) * idf(layout.n_lines, df)
    tf *= weights.astype(np.float32).repeat(sizes)
    np.add.at(scores, cells, tf)


def _add_alone(scores: Floats, norms: Floats, layout: Layout, term: _Term) -> None:
    is_line = layout.is_line.values.take(term.rows)
    slots = layout.slot.values.take(term.rows[is_line])
    tf = term.counts[is_line].astype(np.float32)
    tf /= tf + norms.take(slots)
    scores[slots] += np.float32(term.weight * idf(layout.n_lines, len(slots))) * tf


def _counted(
    layout: Layout, rows: Numbers, counts: Numbers, at: Places, ends: Places, n_cells: int
) -> Floats:
    """How often terms are in the line of each cell and, by their weights, round it. By row that
    holds a term: how often, the cell of its line, or of the first line under it if it is a heading,
    and the cell after the last that it encloses."""
    is_line = layout.is_line.values.take(rows)
    own = np.zeros(n_cells, np.float32)
    own[at] = counts * is_line  # a heading comes before the line that shares its cell
    tf: Floats = np.convolve(own, layout.kernel)[FARTHEST:-FARTHEST]
    first = at + is_line
    opens = np.flatnonzero(ends > first)
    if not len(opens):
        return tf
    shares = np.where(is_line[opens], layout.plan.enclosing, layout.plan.heading) * counts[opens]
    parts = np.rint(shares * _PARTS).astype(np.int32)
    steps = np.zeros(n_cells + 1, np.int32)
    np.add.at(steps, first[opens], parts)
    np.subtract.at(steps, ends[opens], parts)
    inside = steps[:-1].cumsum(dtype=np.int32).astype(np.float32)
    inside /= _PARTS
    tf += inside
    return tf
