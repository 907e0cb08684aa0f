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
from memory.engine.layout import Layout, Lines
from memory.engine.plan import Plan


def word_scores(
    index: LineIndex, layout: Layout, lines: Lines, terms: Mapping[str, float], plan: Plan
) -> Floats:
    """The score of every shown line for weighted terms; 0 where none of them is near."""
    n = len(lines.rows)
    scores: Floats = np.zeros(n, np.float32)
    if not n:
        return scores
    norms = _norms(lines, plan)
    for term, weight in terms.items():
        tf = _surrounded(index, layout, lines, term, plan)
        df = int(np.count_nonzero(tf))
        if df:
            scores += np.float32(weight * idf(n, df)) * tf / (tf + norms)
    return scores


def _norms(lines: Lines, plan: Plan) -> Floats:
    length = lines.around(lines.length, plan.before, plan.after)
    length += np.float32(plan.enclosing) * lines.enclosing_length
    length += np.float32(plan.heading) * lines.heading_length
    average = float(length.mean()) or 1.0
    norms: Floats = np.float32(K1 * (1 - B)) + np.float32(K1 * B / average) * length
    return norms


def _surrounded(index: LineIndex, layout: Layout, lines: Lines, term: str, plan: Plan) -> Floats:
    """How often a term occurs in and round every line, by the weights of the plan."""
    docs, tfs = index.tf(term)
    in_line = layout.is_line.values[docs]
    own = np.zeros(lines.n_rows, np.float32)
    own[docs[in_line]] = tfs[in_line]
    tf = lines.around(own[lines.rows], plan.before, plan.after)
    ends = layout.inside_end.values[docs]
    share = np.where(in_line, plan.enclosing, plan.heading)
    weights: Floats = (share * tfs).astype(np.float32)
    opens = (ends > docs + 1) & (weights > 0)
    if opens.any():
        tf += _spread(docs[opens], ends[opens], weights[opens], lines)
    return tf


def _spread(docs: Numbers, ends: Numbers, weights: Floats, lines: Lines) -> Floats:
    """Give every row's weight to all rows that it encloses."""
    steps = np.bincount(docs + 1, weights, lines.n_rows + 2)
    steps -= np.bincount(ends, weights, lines.n_rows + 2)
    total: Floats = np.cumsum(steps)[lines.rows].astype(np.float32)
    return total
