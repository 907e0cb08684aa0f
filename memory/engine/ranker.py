"""The order in which a question needs the lines of a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory.engine.errors import EmbedderFailed
from memory.engine.history import History
from memory.engine.index import Floats
from memory.engine.ports import Embedding
from memory.engine.question import Asked
from memory.engine.ranking import fuse, order
from memory.engine.vectors import token_weights
from memory.engine.words import word_scores

Positions = NDArray[np.int64]
_ENOUGH_TO_COMPARE = 10
_MORE = 16
LEAN_SHARE = 0.25
LEAN_CLOSEST = 60


@dataclass(slots=True)
class Ranked:
    """The score of every shown line by its position; with meaning, the rankings whose reciprocal
    ranks are summed in it."""

    scores: Floats
    words: Floats
    rankings: dict[str, Positions] = field(default_factory=dict)
    rrf_k: int = 60
    notices: list[str] = field(default_factory=list)
    _places: dict[str, Positions] = field(default_factory=dict)

    def in_pieces(self, first: int) -> Iterator[Positions]:
        """All positions that a ranking holds, best first. Only so far as it is looked at is the
        order made: `first` positions, then several times as many, and so on."""
        size, done = max(first, 1), 0
        while True:
            best = order(self.scores, size)
            yield best[done:]
            if len(best) < size:
                return
            size, done = size * _MORE, size

    def unranked(self) -> Positions:
        """The positions that no ranking holds, in order."""
        return np.flatnonzero(self.scores <= 0)

    def relevant(self) -> Positions:
        """Best first, as far as there are relevant ones: of the words at least a share of what the
        best line has, or among the closest in meaning."""
        relevant = self.words >= LEAN_SHARE * max(float(self.words.max(initial=0)), 1e-9)
        if "meaning" in self.rankings:
            relevant[self.rankings["meaning"][:LEAN_CLOSEST]] = True
        best = order(self.scores)
        found = np.flatnonzero(relevant[best])
        return best[: int(found[-1]) + 1] if len(found) else best[:0]

    def parts(self, positions: Sequence[int]) -> list[dict[str, float]]:
        """What each ranking adds to the score of these lines."""
        if not self.rankings:
            scores = self.scores.take(positions).tolist()
            return [{"words": score} if score > 0 else {} for score in scores]
        parts: list[dict[str, float]] = [{} for _ in positions]
        for name, ranking in self.rankings.items():
            if name not in self._places:
                self._places[name] = np.zeros(len(self.words), np.int64)
                self._places[name][ranking] = np.arange(1, len(ranking) + 1)
            for part, place in zip(parts, self._places[name].take(positions).tolist(), strict=True):
                if place:
                    part[name] = 1.0 / (self.rrf_k + place)
        return parts


def rank(history: History, question: Asked) -> Ranked:
    """All lines by their score."""
    terms = question.terms
    history.before_ranking([*terms, *question.alone])
    n = history.layout.n_lines
    words = _words(history, question)
    embedder = history.embedder
    if history.vectors is None or not n or not embedder or not embedder.knows(question.text):
        return Ranked(words, words)
    try:
        asked = embedder.encode_question(question.text)
    except EmbedderFailed as error:
        return Ranked(words, words, notices=[str(error)])
    rankings = {"words": order(words, history.plan.ranked)}
    rankings["meaning"] = _meaning(history, asked, list(terms), rankings["words"])
    return Ranked(fuse(rankings, n, rrf_k=history.plan.rrf_k), words, rankings, history.plan.rrf_k)


def _words(history: History, question: Asked) -> Floats:
    layout, terms = history.layout, question.terms
    scores = word_scores(history.index, layout, terms, question.alone)
    if not len(scores):
        return scores
    if layout.has_output:
        scores += layout.by_user.values * (np.float32(history.plan.said) * scores.max())
    if history.named_speakers(list(terms)):
        named = _named(history, list(terms)) & (scores > 0)
        scores[named] += np.float32(history.plan.named_speaker) * scores.max()
    return scores


def _named(history: History, terms: Sequence[str]) -> NDArray[np.bool_]:
    """The lines of the speakers whom a question names."""
    named: NDArray[np.bool_] = np.isin(history.layout.speaker.values, history.named_speakers(terms))
    return named


def _meaning(
    history: History, asked: Embedding, terms: Sequence[str], by_words: Positions
) -> Positions:
    plan, layout, vectors = history.plan, history.layout, history.vectors
    assert vectors is not None
    similar = vectors.similarities(layout.rows.values, asked)
    known = vectors.is_encoded.values[layout.rows.values]
    spoken, printed = known & layout.is_talk.values, known & ~layout.is_talk.values
    if min(np.count_nonzero(spoken), np.count_nonzero(printed)) >= _ENOUGH_TO_COMPARE:
        for kind in (spoken, printed):
            similar[kind] = _standard(similar[kind])
    by_meaning = order((similar - similar.min() + 1) * known, plan.ranked)
    if not plan.late:
        return by_meaning
    rankings = {"words": by_words, "meaning": by_meaning}
    best = order(fuse(rankings, layout.n_lines, rrf_k=plan.rrf_k), plan.late)
    return _late(history, asked, terms, best, by_meaning)


def _standard(values: Floats) -> Floats:
    """Values by their distance from the mean in standard deviations: talk and tool output lie
    differently close to any question, and are ranked together by how much they stand out."""
    standard: Floats = (values - values.mean()) / max(float(values.std()), 1e-6)
    return standard


def _late(
    history: History,
    asked: Embedding,
    terms: Sequence[str],
    candidates: Positions,
    by_meaning: Positions,
) -> Positions:
    """The order of meaning, where the candidates that have token vectors share out the places
    they hold among themselves by late interaction."""
    vectors, rows = history.vectors, history.layout.rows.values
    assert vectors is not None
    history.read_tokens(rows[candidates])
    missing = candidates[~np.isin(candidates, by_meaning)]
    missing = missing[vectors.is_encoded.values[rows[missing]]]
    ranked = np.concatenate([by_meaning, missing])
    among = np.isin(ranked, candidates)
    held = among & np.array([row in vectors.tokens for row in rows[ranked].tolist()], np.bool_)
    if not held.any():
        return by_meaning
    chosen = ranked[held]
    weights = token_weights(asked, _idf_of(history, asked.words))
    scores = vectors.late(rows[chosen].tolist(), asked, weights)
    scores += np.float32(history.plan.named_similar) * _named(history, terms)[chosen]
    ranked[held] = chosen[np.argsort(-scores, kind="stable")]
    return ranked


def _idf_of(history: History, words: Sequence[str]) -> dict[str, float]:
    terms_by_word = {word: history.terms(word) for word in set(words)}
    history.read_terms(term for terms in terms_by_word.values() for term in terms)
    weights = {}
    for word, terms in terms_by_word.items():
        known = [history.index.idf(term) for term in terms if history.index.has(term)]
        if known:
            weights[word] = max(known)
    return weights
