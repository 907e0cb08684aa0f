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
from memory.engine.plan import Plan

_RARE = 40
"""A term in fewer than one line of so many is counted from its postings alone."""
_FEW_RANGES = 48


def word_scores(index: LineIndex, layout: Layout, terms: Mapping[str, float], plan: Plan) -> Floats:
    """The score of every shown line for weighted terms; 0 where none of them is near."""
    n = layout.n_lines
    scores: Floats = np.zeros(n, np.float32)
    if not n:
        return scores
    norms = _norms(layout, plan)
    for term, weight in terms.items():
        if not index.has(term):
            continue
        tf = _surrounded(index, layout, term, plan)
        near = np.flatnonzero(tf)
        factor = np.float32(weight * idf(n, len(near)))
        if len(near) * 4 < n:
            held = tf[near]
            scores[near] += factor * held / (held + norms[near])
        else:
            scores += factor * tf / (tf + norms)
    return scores


def _norms(layout: Layout, plan: Plan) -> Floats:
    length = layout.around(layout.length.values, plan.before, plan.after)
    length += np.float32(plan.enclosing) * layout.enclosing_length.values
    length += np.float32(plan.heading) * layout.heading_length.values
    average = layout.sums.average(plan, layout.n_lines) or 1.0
    norms: Floats = np.float32(K1 * (1 - B)) + np.float32(K1 * B / average) * length
    return norms


def _surrounded(index: LineIndex, layout: Layout, term: str, plan: Plan) -> Floats:
    """How often a term occurs in and round every line, by the weights of the plan."""
    docs, tfs = index.tf(term)
    in_line = layout.is_line.values[docs]
    at = (docs - layout.message.values[docs] - 1)[in_line].astype(np.int64)
    counts: Floats = tfs[in_line].astype(np.float32)
    if len(at) * _RARE < layout.n_lines:
        tf = layout.scatter(at, counts, plan.before, plan.after)
    else:
        own = np.zeros(layout.n_lines, np.float32)
        own[at] = counts
        tf = layout.around(own, plan.before, plan.after)
    ends = layout.inside_end.values[docs]
    share: Floats = (np.where(in_line, plan.enclosing, plan.heading) * tfs).astype(np.float32)
    opens = (ends > docs + 1) & (share > 0)
    _spread(tf, docs[opens], ends[opens], share[opens], layout)
    return tf


def _spread(tf: Floats, docs: Numbers, ends: Numbers, shares: Floats, layout: Layout) -> None:
    """Give every row's share to all lines that it encloses: they lie in one piece after it."""
    if not len(docs):
        return
    starts = docs - layout.message.values[docs]
    stops = starts + (ends - docs - 1)
    if len(docs) <= _FEW_RANGES:
        for start, stop, share in zip(
            starts.tolist(), stops.tolist(), shares.tolist(), strict=True
        ):
            tf[start:stop] += np.float32(share)
        return
    steps = np.bincount(starts, shares, layout.n_lines + 1)
    steps -= np.bincount(stops, shares, layout.n_lines + 1)
    tf += np.cumsum(steps)[:-1].astype(np.float32)
