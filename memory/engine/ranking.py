"""Merging rankings by rank, never by score."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import Floats


def order(scores: Floats, limit: int | None = None) -> NDArray[np.int64]:
    """Positions with a score above 0, best first, ties by position; at most `limit`."""
    found = np.flatnonzero(scores > 0)
    if limit is not None and len(found) > 2 * limit:
        threshold = np.partition(scores[found], len(found) - limit)[len(found) - limit]
        found = found[scores[found] >= threshold]
    best: NDArray[np.int64] = found[np.argsort(-scores[found], kind="stable")]
    return best if limit is None else best[:limit]


def fuse(rankings: Mapping[str, NDArray[np.int64]], n: int, *, rrf_k: int) -> Floats:
    """Reciprocal rank fusion of rankings of positions 0 to n - 1, each best first.

    A position may be missing from some rankings; ranks count from 1. Scores have no unit and are
    comparable only within one call. Source: Cormack, Clarke and Büttcher, SIGIR 2009.
    """
    fused: Floats = np.zeros(n, np.float32)
    for ranking in rankings.values():
        fused[ranking] += (1.0 / (rrf_k + np.arange(1, len(ranking) + 1))).astype(np.float32)
    return fused
