"""Merging rankings by rank, never by score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import Floats

_LOW = (1 << 32) - 1


def order(scores: Floats, limit: int | None = None) -> NDArray[np.int64]:
    """Positions with a score above 0, best first, ties by position; at most `limit`.

    Numbers above 0 are in the order of their bits, so score and position make one whole number,
    and those are sorted many times faster than scores with their places.
    """
    found = np.flatnonzero(scores > 0)
    values = scores.take(found)
    if limit is not None and len(found) > limit:
        enough = np.flatnonzero(values >= _reached_by(values, limit))
        found, values = found.take(enough), values.take(enough)
    bits = values.astype(np.float32, copy=False).view(np.int32)
    keys = bits.astype(np.int64) << 32 | (_LOW - found)
    keys.sort()
    best: NDArray[np.int64] = _LOW - (keys[::-1] & _LOW)
    return best[:limit]


def _reached_by(values: Floats, n: int) -> Any:
    """A value that at least `n` of the values reach and not many more: where there are many, of
    the greatest of each stretch of them the `n`-th."""
    n_stretches = 4 * n
    width = len(values) // n_stretches
    if width > 1:
        values = values[: width * n_stretches].reshape(width, n_stretches).max(axis=0)
    return np.partition(values, len(values) - n)[len(values) - n]


def fuse(rankings: Mapping[str, NDArray[np.int64]], n: int, *, rrf_k: int) -> Floats:
    """Reciprocal rank fusion of rankings of positions 0 to n - 1, each best first.

    A position may be missing from some rankings; ranks count from 1. Scores have no unit and are
    comparable only within one call. Source: Cormack, Clarke and Büttcher, SIGIR 2009.
    """
    fused: Floats = np.zeros(n, np.float32)
    for ranking in rankings.values():
        fused[ranking] += (1.0 / (rrf_k + np.arange(1, len(ranking) + 1))).astype(np.float32)
    return fused
