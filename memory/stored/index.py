"""The postings of a path for the terms that were asked for, as the ranking reads them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import LineIndex, Numbers
from memory.stored.formats import POSTING, term_key
from memory.stored.places import Places
from memory.stored.postings import read_postings

_NONE = np.empty(0, np.int32)


class StoredIndex(LineIndex):
    """Knows the terms that were fetched; any other is not there."""

    def __init__(self, places: Places) -> None:
        super().__init__()
        self.n_docs = places.n_rows
        self._places = places
        self._held: dict[str, tuple[Numbers, Numbers]] = {}

    def fetch(self, terms: Iterable[str]) -> None:
        """Read the postings of those that are not here yet, in one query."""
        keys = {term: term_key(term) for term in set(terms) if term not in self._held}
        if not keys:
            return
        by_key = self.postings(keys.values())
        for term, key in keys.items():
            self._held[term] = by_key.get(key, (_NONE, _NONE))

    def postings(self, keys: Iterable[str]) -> dict[str, tuple[Numbers, Numbers]]:
        """The rows of the path, rising, and how often each holds the term."""
        starts = self._places.first_row_of_block
        read = read_postings(starts, keys)
        read.sort(key=lambda one: (one[1], starts[one[0]]))
        size = POSTING.itemsize
        counts = np.array([len(data) // size for _, _, data in read], np.int64)
        held = np.frombuffer(b"".join(data for _, _, data in read), POSTING)
        rows = held["row"] + np.repeat([starts[block] for block, _, _ in read], counts)
        ends = self._places.end_row_of_block
        on_path = rows < np.repeat([ends[block] for block, _, _ in read], counts)
        rows, times = rows.astype(np.int32), held["times"].astype(np.int32)
        found, at = {}, 0
        n_by_term: dict[str, int] = {}
        for (_, term, _), n in zip(read, counts.tolist(), strict=True):
            n_by_term[term] = n_by_term.get(term, 0) + n
        for term, n in n_by_term.items():
            kept = on_path[at : at + n]
            found[term] = (rows[at : at + n][kept], times[at : at + n][kept])
            at += n
        return found

    def rows_of(self, terms: Iterable[str]) -> NDArray[np.int64]:
        """The rows that hold these terms, term by term."""
        return np.concatenate([_NONE, *(self.tf(term)[0] for term in terms)]).astype(np.int64)

    # --- As the engine asks ----------------------------------------------------------------------

    def has(self, term: str) -> bool:
        return self.df(term) > 0

    def df(self, term: str) -> int:
        return len(self.tf(term)[0])

    def tf(self, term: str) -> tuple[Numbers, Numbers]:
        return self._held.get(term, (_NONE, _NONE))
