"""An inverted index of one history's lines with BM25, kept up to date line by line.

BM25 as in the glossary: sum over the question's terms of `idf * tf / (tf + k1 * (1 - b + b * dl /
avgdl))` with `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`. A document is a line; its number never
changes and is never used again. Adding costs the same however much is in the index; removing
costs the postings of the line's own terms. Whatever was added and removed before, the scores are
those of an index built afresh.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.int32]

K1 = 1.2
B = 0.75


_SHIFT = 32
"""A posting is one number, `document << 32 | times`, so that adding one is a single append."""


class _Postings(dict[str, "array[int]"]):
    """Postings by term, documents rising. A term never seen gets none by being looked up."""

    def __missing__(self, term: str) -> array[int]:
        self[term] = found = array("q")
        return found


class LineIndex:
    """Postings, lengths and running totals. Documents are numbered from 0 as they come."""

    def __init__(self) -> None:
        self._postings = _Postings()
        self._lengths = array("i")
        self._terms: list[tuple[str, ...] | None] = []
        self.n_docs = 0
        self.n_terms = 0

    def add(self, terms: Iterable[str]) -> int:
        """Take in a line by its terms, repetition counted, and return its number."""
        return self.extend([tuple(terms)])

    def extend(self, lines: Sequence[Sequence[str]]) -> int:
        """Take in lines one after the other; the number of the first.

        Terms come again and again among neighbours: each one's place in the index, far apart in
        memory, is looked up once for all lines.
        """
        first = len(self._lengths)
        posting = first << _SHIFT | 1
        found: dict[str, list[int]] = {}
        find = found.get
        for terms in lines:
            for term in terms:
                own = find(term)
                if own is None:
                    found[term] = [posting]
                elif own[-1] >= posting:
                    own[-1] += 1
                else:
                    own.append(posting)
            posting += 1 << _SHIFT
        postings = self._postings
        for term, own in found.items():
            postings[term].extend(own)
        lengths = [len(terms) for terms in lines]
        self._lengths.extend(lengths)
        self._terms += map(tuple, lines)
        self.n_docs += len(lengths)
        self.n_terms += sum(lengths)
        return first

    def remove(self, doc: int) -> None:
        """Forget a line. Raises KeyError for one that is not there."""
        terms = self._terms[doc] if 0 <= doc < len(self._terms) else None
        if terms is None:
            raise KeyError(doc)
        for term in set(terms):
            postings = self._postings[term]
            del postings[bisect_left(postings, doc << _SHIFT)]
            if not postings:
                del self._postings[term]
        self.n_docs -= 1
        self.n_terms -= self._lengths[doc]
        self._lengths[doc] = 0
        self._terms[doc] = None

    @property
    def size(self) -> int:
        """One more than the highest number given out."""
        return len(self._lengths)

    @property
    def lengths(self) -> Floats:
        """The number of terms of every document, 0 for those removed."""
        return np.array(self._lengths, dtype=np.float32)

    def terms_of(self, doc: int) -> tuple[str, ...]:
        """The terms of a document, without repetition; none once it is removed."""
        return tuple(dict.fromkeys(self._terms[doc] or ()))

    def matched(self, docs: Sequence[int], terms: Iterable[str]) -> list[list[str]]:
        """For each of the documents those of the terms that it has, in the order of the terms."""
        found: list[list[str]] = [[] for _ in docs]
        wanted = np.array(docs, np.int32)
        for term in terms:
            held, _ = self.tf(term)
            if len(held):
                places = np.minimum(held.searchsorted(wanted), len(held) - 1)
                for at in np.flatnonzero(held.take(places) == wanted).tolist():
                    found[at].append(term)
        return found

    def has(self, term: str) -> bool:
        return term in self._postings

    def df(self, term: str) -> int:
        postings = self._postings.get(term)
        return len(postings) if postings else 0

    def idf(self, term: str) -> float:
        return float(idf(self.n_docs, self.df(term)))

    def tf(self, term: str) -> tuple[Numbers, Numbers]:
        """The documents that hold a term, and how often."""
        postings = self._postings.get(term)
        if postings is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        held = np.array(postings, np.int64)
        return (held >> _SHIFT).astype(np.int32), held.astype(np.int32)

    def norms(self) -> NDArray[np.float64]:
        """For every document `k1 * (1 - b + b * dl / avgdl)`."""
        average = self.n_terms / self.n_docs if self.n_terms else 1.0
        return K1 * (1 - B + B * np.array(self._lengths, dtype=np.float64) / average)

    def bm25(self, terms: Iterable[str]) -> NDArray[np.float64]:
        """The score of every document; a term asked for twice counts twice."""
        scores = np.zeros(self.size, np.float64)
        norms = self.norms()
        for term, times in Counter(terms).items():
            docs, tfs = self.tf(term)
            weight = times * idf(self.n_docs, len(docs))
            scores[docs] += weight * tfs / (tfs + norms[docs])
        return scores

    def top(self, terms: Iterable[str], k: int) -> list[tuple[int, float]]:
        """The k best documents that hold a term, by falling score, ties by number."""
        scores = self.bm25(terms)
        found = np.flatnonzero(scores)
        best = found[np.lexsort((found, -scores[found]))][:k]
        return [(int(doc), float(scores[doc])) for doc in best]

    def explain(self, terms: Iterable[str], doc: int) -> dict[str, float]:
        """What each term of a question adds to a document's score."""
        norm = float(self.norms()[doc])
        parts = {}
        for term, times in Counter(terms).items():
            docs, tfs = self.tf(term)
            at = int(np.searchsorted(docs, doc))
            if at < len(docs) and docs[at] == doc:
                tf = float(tfs[at])
                parts[term] = times * idf(self.n_docs, len(docs)) * tf / (tf + norm)
        return parts

    def to_bytes(self) -> bytes:
        """The index as JSON. Numbers survive, so that addresses kept elsewhere stay right."""
        return json.dumps(
            {
                "lengths": self._lengths.tolist(),
                "gone": [doc for doc, terms in enumerate(self._terms) if terms is None],
                "postings": {
                    term: [column.tolist() for column in self.tf(term)] for term in self._postings
                },
            },
            separators=(",", ":"),
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> LineIndex:
        stored: Mapping[str, Any] = json.loads(data)
        index = cls()
        index._lengths = array("i", stored["lengths"])
        terms: list[list[str]] = [[] for _ in index._lengths]
        for term, (docs, tfs) in stored["postings"].items():
            held = (doc << _SHIFT | tf for doc, tf in zip(docs, tfs, strict=True))
            index._postings[term] = array("q", held)
            for doc in docs:
                terms[doc].append(term)
        gone = set(stored["gone"])
        index._terms = [None if doc in gone else tuple(own) for doc, own in enumerate(terms)]
        index.n_docs = len(terms) - len(gone)
        index.n_terms = sum(index._lengths)
        return index


@overload
def idf(n_docs: int, df: int) -> float: ...
@overload
def idf(n_docs: int, df: NDArray[np.int64]) -> NDArray[np.float64]: ...
def idf(n_docs: int, df: int | NDArray[np.int64]) -> float | NDArray[np.float64]:
    return np.log1p((n_docs - df + 0.5) / (df + 0.5))
