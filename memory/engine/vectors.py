"""Vectors of lines: what a line means, where its words do not say it.

Every line has one pooled vector. A line of talk has its token vectors too, for late interaction:
every token of the question meets its most similar token of the line, and rare words of the
question count more (Khattab and Zaharia, SIGIR 2020; weighted here by the IDF of the history).
Token vectors are kept as bytes, one scale for all: their length is 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory.engine.columns import Column
from memory.engine.index import Floats
from memory.engine.ports import TOKEN_SCALE, Embedding


@dataclass(slots=True)
class Vectors:
    """`pooled` has one row a layout row, zeros where nothing was encoded: see `is_encoded`."""

    dimensions: int
    pooled: Column = field(init=False)
    is_encoded: Column = field(init=False)
    tokens: dict[int, NDArray[np.int8]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pooled = Column(np.float32, self.dimensions)
        self.is_encoded = Column(np.bool_)

    def extend(self, n_rows: int) -> None:
        """Rows that nothing is known of yet."""
        self.pooled.extend(0, n_rows)
        self.is_encoded.extend(False, n_rows)

    def add(self, row: int, embedding: Embedding, *, with_tokens: bool) -> None:
        # In half precision, as it is kept: a history in a database ranks the same.
        self.pooled.values[row] = embedding.pooled.astype(np.float16)
        self.is_encoded.values[row] = True
        if with_tokens and embedding.tokens is not None and len(embedding.tokens):
            self.tokens[row] = compress(embedding.tokens)

    def similarities(self, rows: NDArray[np.int64], question: Embedding) -> Floats:
        """The cosine of the question with every row asked for; 0 where nothing was encoded."""
        found: Floats = (self.pooled.values @ question.pooled)[rows]
        return found

    def late(self, rows: Sequence[int], question: Embedding, weights: Floats) -> Floats:
        """For every row the weighted mean of its best similarities, one for each token of the
        question; 0 for a row without token vectors."""
        scores: Floats = np.zeros(len(rows), np.float32)
        held = [(at, self.tokens[row]) for at, row in enumerate(rows) if row in self.tokens]
        if not held or question.tokens is None or not len(question.tokens):
            return scores
        stacked = np.concatenate([tokens for _, tokens in held]).astype(np.float32)
        met = stacked @ question.tokens.T
        starts = np.cumsum([0, *(len(tokens) for _, tokens in held[:-1])])
        best = np.maximum.reduceat(met, starts, axis=0) / np.float32(TOKEN_SCALE)
        scores[[at for at, _ in held]] = best @ weights / max(float(weights.sum()), 1e-9)
        return scores


_LINE_NUMBER = re.compile(r"^\s*\d+\t")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SIGN = re.compile(r"([(){}\[\]=,:.'\"])")


def readable(text: str) -> str:
    """A line of code as an encoder of prose reads it best: names taken apart, signs set off."""
    bare = _HUMP.sub(" ", _LINE_NUMBER.sub("", text).replace("_", " "))
    return " ".join(_SIGN.sub(r" \1 ", bare).split())


def compress(vectors: Floats) -> NDArray[np.int8]:
    rounded: NDArray[np.int8] = np.clip(np.rint(vectors * TOKEN_SCALE), -127, 127).astype(np.int8)
    return rounded


def token_weights(question: Embedding, idf_of: Mapping[str, float]) -> Floats:
    """The IDF of each token's word; words that are in no line, and marks, by the least."""
    known = list(idf_of.values())
    least = 0.3 * min(known, default=1.0)
    return np.array([idf_of.get(word, least) for word in question.words], np.float32)
