"""The lexical ranking of a history's lines against a question.

BM25 over each line in its surroundings: a term counts fully in the line and in the heading of its
message (speaker, date, tool, target), and in part in the lines beside it and in those that enclose
it. What is shown is always the bare line. Deviation from the textbook: the frequency of a term and
the length of a line are the weighted sums over these surroundings; the formula is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import K1, B, Floats, LineIndex, Numbers, idf
from memory.engine.layout import FARTHEST, Layout

Doubles: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]

_RARE = 20
"""A term that reaches fewer than one slot of so many is counted place by place."""
_EXACT = 2.0**30
"""Weights that are added and taken away again are rounded to this part, so that their sums are
exact and zero is zero."""


def word_scores(index: LineIndex, layout: Layout, terms: Mapping[str, float]) -> Floats:
    """The score of every shown line for weighted terms; 0 where none of them is near."""
    if not layout.n_lines:
        return np.zeros(0, np.float32)
    scores: Floats = np.zeros(layout.n_slots, np.float32)
    norms = _norms(layout)
    for rows, counts, weight in _postings(index, terms):
        _add_term(scores, norms, layout, _Term.of(layout, rows, counts), weight)
    by_position: Floats = scores[layout.slots.values]
    return by_position


def _postings(
    index: LineIndex, terms: Mapping[str, float]
) -> Iterable[tuple[Numbers, Numbers, float]]:
    """Where each term is, how often, and its weight. A word and its beginning are often in the same
    lines: terms that no line tells apart are counted once, with their weights together."""
    found: dict[tuple[bytes, bytes], tuple[Numbers, Numbers, float]] = {}
    for name, weight in terms.items():
        rows, counts = index.tf(name)
        if len(rows):
            key = rows.tobytes(), counts.tobytes()
            known = found.get(key)
            found[key] = rows, counts, weight + (known[2] if known else 0.0)
    return found.values()


def _norms(layout: Layout) -> Floats:
    share = np.float32(K1 * B / layout.mean_length)
    return share * layout.around_length.values.astype(np.float32) + np.float32(K1 * (1 - B))


class _Term(NamedTuple):
    """Where a term is: in lines at slots, so often, and `shares` of it given to the slots from
    `starts` to `ends`, which lie inside the line or under the heading that holds it."""

    slots: Numbers
    counts: Numbers
    starts: Places
    ends: Numbers
    shares: Doubles

    @classmethod
    def of(cls, layout: Layout, rows: Numbers, counts: Numbers) -> _Term:
        slots, ends = layout.slot.values[rows], layout.end_slot.values[rows]
        in_line = layout.is_line.values[rows]
        starts = slots + in_line
        opens = np.flatnonzero(ends > starts)
        weights: Doubles = np.where(in_line[opens], layout.plan.enclosing, layout.plan.heading)
        shares = weights * counts[opens]
        return cls(slots[in_line], counts[in_line], starts[opens], ends[opens], shares)


def _add_term(scores: Floats, norms: Floats, layout: Layout, term: _Term, weight: float) -> None:
    sizes = term.ends - term.starts
    n_inside = int(sizes.sum())
    if (len(term.slots) + len(sizes)) * _RARE < layout.n_slots and n_inside < layout.n_slots:
        near, held = _near_few(layout, term, sizes)
        held /= held + norms.take(near)
        held *= weight * idf(layout.n_lines, len(near))
        scores[near] += held
        return
    tf = layout.around(term.slots, term.counts)
    tf += _inside(term, sizes, n_inside, len(tf)).astype(np.float32)
    df = int(np.count_nonzero((tf > 0) & layout.is_shown.values))
    tf /= tf + norms
    tf *= np.float32(weight * idf(layout.n_lines, df))
    scores += tf


def _near_few(layout: Layout, term: _Term, sizes: Places) -> tuple[Places, Doubles]:
    """The slots that a rare term is near, and how often it is in and round them."""
    places, counts = layout.beside(term.slots, term.counts)
    if len(sizes):
        places = np.concatenate((places, _places(term.starts, sizes)))
        counts = np.concatenate((counts, np.repeat(term.shares, sizes)))
    tf = np.bincount(places, counts, layout.n_slots + FARTHEST)[: layout.n_slots]
    near = np.flatnonzero((tf > 0) & layout.is_shown.values)
    return near, tf.take(near).astype(np.float64, copy=False)


def _inside(term: _Term, sizes: Places, n_inside: int, n: int) -> Doubles:
    """What a common term gives to every slot that its lines and headings enclose."""
    if n_inside < n:
        given = np.bincount(_places(term.starts, sizes), np.repeat(term.shares, sizes), n)
        return given.astype(np.float64, copy=False)
    exact = np.rint(term.shares * _EXACT) / _EXACT
    steps = np.bincount(term.starts, exact, n + 1) - np.bincount(term.ends, exact, n + 1)
    summed: Doubles = np.cumsum(steps)[:-1]
    return summed


def _places(starts: Places, sizes: Places) -> Places:
    """All places of ranges that begin at `starts`, range by range."""
    ends = np.cumsum(sizes)
    n = int(ends[-1]) if len(ends) else 0
    places: Places = np.arange(n) + np.repeat(starts - (ends - sizes), sizes)
    return places
