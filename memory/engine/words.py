"""The lexical ranking of a history's lines against a question.

BM25 over each line in its surroundings: a term counts fully in the line and in the heading of its
message (speaker, date, tool, target), and in part in the lines beside it and in those that enclose
it. What is shown is always the bare line. Deviation from the textbook: the frequency of a term and
the length of a line are the weighted sums over these surroundings; the formula is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import K1, B, Floats, LineIndex, Numbers, idf
from memory.engine.layout import Layout

Shares: TypeAlias = NDArray[np.float64]

_RARE = 20
"""A term in fewer than one line of so many is counted from its postings alone."""
_EXACT = 2.0**30
"""Weights that are added and taken away again are rounded to this part, so that their sums are
exact and zero is zero."""


def word_scores(index: LineIndex, layout: Layout, terms: Mapping[str, float]) -> Floats:
    """The score of every shown line for weighted terms; 0 where none of them is near."""
    scores: Floats = np.zeros(layout.n_slots, np.float32)
    if not layout.n_lines:
        return scores[:0]
    norms: Floats = np.float32(K1 * B / layout.mean_length) * layout.around_length.values
    norms += np.float32(K1 * (1 - B))
    for term, weight in terms.items():
        if index.has(term):
            _add_term(scores, norms, index, layout, term, weight)
    by_position: Floats = scores[layout.slots.values]
    return by_position


def _add_term(
    scores: Floats, norms: Floats, index: LineIndex, layout: Layout, term: str, weight: float
) -> None:
    shown = layout.is_shown.values
    rows, tfs = index.tf(term)
    if len(rows) * _RARE < layout.n_slots:
        tf = _surrounded(layout, rows, tfs, layout.scatter)
        near = np.flatnonzero((tf > 0) & shown)
        held = tf[near]
        factor = np.float32(weight * idf(layout.n_lines, len(near)))
        scores[near] += factor * held / (held + norms[near])
    else:
        tf = _surrounded(layout, rows, tfs, layout.around)
        df = int(np.count_nonzero((tf > 0) & shown))
        factor = np.float32(weight * idf(layout.n_lines, df))
        scores += factor * tf / (tf + norms)


def _surrounded(
    layout: Layout, rows: Numbers, tfs: Numbers, spread: Callable[[Numbers, Numbers], Floats]
) -> Floats:
    """How often a term occurs in and round every slot, by the weights of the plan."""
    slots, ends = layout.slot.values[rows], layout.end_slot.values[rows]
    in_line = layout.is_line.values[rows]
    tf = spread(slots[in_line], tfs[in_line])
    starts = slots + in_line
    opens = np.flatnonzero(ends > starts)
    if len(opens):
        weights = np.where(in_line[opens], layout.plan.enclosing, layout.plan.heading)
        _give_inside(tf, starts[opens], ends[opens], weights * tfs[opens])
    return tf


def _give_inside(tf: Floats, starts: Numbers, ends: Numbers, shares: Shares) -> None:
    """Give every row's share to all lines that it encloses: they lie in one piece after it."""
    sizes = ends - starts
    total = int(sizes.sum())
    if total <= len(tf):
        firsts = np.cumsum(sizes) - sizes
        inside = np.arange(total) + np.repeat(starts - firsts, sizes)
        tf += np.bincount(inside, np.repeat(shares, sizes), len(tf))
        return
    exact = np.rint(shares * _EXACT) / _EXACT
    steps = np.bincount(starts, exact, len(tf) + 1) - np.bincount(ends, exact, len(tf) + 1)
    tf += np.cumsum(steps)[:-1]
