"""The order in which a question needs the lines of a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory.engine.errors import EmbedderFailed
from memory.engine.history import History
from memory.engine.index import Floats
from memory.engine.ports import Embedding
from memory.engine.ranking import fuse, order
from memory.engine.vectors import token_weights
from memory.engine.words import word_scores

Positions = NDArray[np.int64]


@dataclass(slots=True)
class Ranked:
    """Positions of shown lines, best first, and the rankings whose reciprocal ranks are summed."""

    order: Positions
    scores: Floats
    rankings: dict[str, Positions]
    words: Floats
    notices: list[str] = field(default_factory=list)


def rank(history: History, question: str, terms: Sequence[str]) -> Ranked:
    lines = history.lines
    words = _words(history, Counter(terms))
    rankings = {"words": order(words, history.plan.ranked if history.vectors else None)}
    if history.vectors is None or history.embedder is None or not len(lines.rows):
        return Ranked(rankings["words"], words, rankings, words)
    try:
        asked = history.embedder.encode_question(question)
    except EmbedderFailed as error:
        return Ranked(rankings["words"], words, rankings, words, [str(error)])
    rankings |= _meaning(history, asked, terms, rankings["words"])
    fused = fuse(rankings, len(lines.rows), rrf_k=history.plan.rrf_k)
    return Ranked(order(fused), fused, rankings, words)


def _words(history: History, terms: Mapping[str, int]) -> Floats:
    lines = history.lines
    scores = word_scores(history.index, history.layout, lines, terms, history.plan)
    named = history.named_speakers(list(terms))
    if named and len(scores):
        spoken = np.isin(lines.speaker, named) & (scores > 0)
        scores[spoken] += np.float32(history.plan.named_speaker) * scores.max()
    return scores


def _meaning(
    history: History, asked: Embedding, terms: Sequence[str], by_words: Positions
) -> dict[str, Positions]:
    plan, lines, vectors = history.plan, history.lines, history.vectors
    assert vectors is not None
    similar = vectors.similarities(lines.rows, asked)
    near = lines.around(similar, plan.similar_before, plan.similar_after)
    if plan.similar_enclosing:
        near += np.float32(plan.similar_enclosing) * _above(history, similar)
    near -= near.min() - 1e-6
    rankings = {"meaning": order(near, plan.ranked)}
    if plan.late:
        best = fuse({"words": by_words, **rankings}, len(lines.rows), rrf_k=plan.rrf_k)
        rankings["tokens"] = _late(history, asked, order(best, plan.late), rankings["meaning"])
    return rankings


def _above(history: History, values: Floats) -> Floats:
    """For every line the value of the line that encloses it most closely."""
    lines = history.lines
    full = np.zeros(lines.n_rows, np.float32)
    full[lines.rows] = values
    parents = history.layout.parent.values[lines.rows]
    found: Floats = np.where(parents >= 0, full[parents], 0).astype(np.float32)
    return found


def _late(
    history: History, asked: Embedding, candidates: Positions, by_meaning: Positions
) -> Positions:
    """The candidates in the order of meaning, where the lines that have token vectors share out
    the places that they hold among themselves, by late interaction."""
    vectors = history.vectors
    assert vectors is not None
    among = np.zeros(len(history.lines.rows), np.bool_)
    among[candidates] = True
    ranked = by_meaning[among[by_meaning]]
    rows = history.lines.rows[ranked].tolist()
    held = np.array([row in vectors.tokens for row in rows], np.bool_)
    if not held.any():
        return ranked
    scores = vectors.late(
        [row for row, has in zip(rows, held, strict=True) if has],
        asked,
        token_weights(asked, _idf_of(history, asked.words)),
    )
    spread = ranked.copy()
    spread[held] = ranked[held][np.argsort(-scores, kind="stable")]
    return spread


def _idf_of(history: History, words: Sequence[str]) -> dict[str, float]:
    weights = {}
    for word in set(words):
        known = [history.index.idf(term) for term in history.terms(word) if history.index.has(term)]
        if known:
            weights[word] = max(known)
    return weights
