"""The lexical ranking of a history's lines against a question.

BM25 over each line in its surroundings: a term counts fully in the line and in the heading of its
message (speaker, date, tool, target), and in part in the lines beside it and in those that enclose
it. What is shown is always the bare line. Deviation from the textbook: the frequency of a term and
the length of a line are the weighted sums over these surroundings; the formula is the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from memory.engine.index import K1, B, Floats, LineIndex, Numbers, idf
from memory.engine.layout import Layout

_RARE = 20
"""A term in fewer than one line of so many is counted from its postings alone."""
_FEW_RANGES = 48
_LEAST = np.float32(1e-3)
"""Below every weight: a sum of weights that is less is zero but for rounding."""


def word_scores(index: LineIndex, layout: Layout, terms: Mapping[str, float]) -> Floats:
    """The score of every shown line for weighted terms; 0 where none of them is near."""
    scores: Floats = np.zeros(layout.n_slots, np.float32)
    if not layout.n_lines:
        return scores[:0]
    shown, lengths = layout.is_shown.values, layout.around_length.values
    flat, slope = np.float32(K1 * (1 - B)), np.float32(K1 * B / layout.mean_length)
    for term, weight in terms.items():
        if not index.has(term):
            continue
        tf = _surrounded(index, layout, term)
        near = np.flatnonzero((tf > _LEAST) & shown)
        held = tf[near]
        factor = np.float32(weight * idf(layout.n_lines, len(near)))
        scores[near] += factor * held / (held + flat + slope * lengths[near])
    by_position: Floats = scores[layout.slots.values]
    return by_position


def _surrounded(index: LineIndex, layout: Layout, term: str) -> Floats:
    """How often a term occurs in and round every slot, by the weights of the plan."""
    rows, tfs = index.tf(term)
    slots, ends = layout.slot.values[rows], layout.end_slot.values[rows]
    in_line = layout.is_line.values[rows]
    at, counts = slots[in_line], tfs[in_line]
    if len(at) * _RARE < layout.n_slots:
        tf = layout.scatter(at, counts)
    else:
        own = np.zeros(layout.n_slots, np.float32)
        own[at] = counts
        tf = layout.around(own)
    plan = layout.plan
    starts = slots + in_line
    shares = (np.where(in_line, plan.enclosing, plan.heading) * tfs).astype(np.float32)
    opens = (ends > starts) & (shares > 0)
    _spread(tf, starts[opens], ends[opens], shares[opens])
    return tf


def _spread(tf: Floats, starts: Numbers, ends: Numbers, shares: Floats) -> None:
    """Give every row's share to all lines that it encloses: they lie in one piece after it."""
    if not len(starts):
        return
    if len(starts) <= _FEW_RANGES:
        for start, end, share in zip(starts.tolist(), ends.tolist(), shares, strict=True):
            tf[start:end] += share
        return
    steps = np.bincount(starts, shares, len(tf) + 1)
    steps -= np.bincount(ends, shares, len(tf) + 1)
    tf += np.cumsum(steps)[:-1].astype(np.float32)
