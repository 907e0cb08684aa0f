"""Search over the passages that a person may see: BM25, a document a result."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, time
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from rank_bm25 import BM25Okapi

from chat.agent.values import SearchResult
from chat.library.terms import query_terms
from chat.library_models import LibraryDocument, LibraryFolder, LibraryPassage

if TYPE_CHECKING:
    from chat.models import User

_MAX_PASSAGES = 3
# A further passage of a document is shown if it fits at least half as well as the best one.
_GOOD_ENOUGH = 0.5
_KEPT_INDEXES = 8
_MAX_QUERY_TERMS = 200

Version = tuple[tuple[int, datetime | None], ...]


class _Bm25(BM25Okapi):
    """With an IDF that is never negative: in a small library the original's can be, and then a
    passage without the term outranks those with it. Source: Robertson and Zaragoza 2009, Lucene."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {
            term: math.log(1 + (self.corpus_size - df + 0.5) / (df + 0.5))
            for term, df in nd.items()
        }


class _Index:
    """All passages of some folders. Never changes once made, so threads can share it."""

    def __init__(self, rows: Iterable[tuple[int, int, str, list[str]]]) -> None:
        kept = [row for row in rows if row[3]]
        self._passages = [row[0] for row in kept]
        self._documents = [row[1] for row in kept]
        self._languages = sorted({row[2] for row in kept})
        self._bm25 = _Bm25([row[3] for row in kept], k1=1.2, b=0.75) if kept else None

    def best(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Passages with their scores, best first: at most three of each of `limit` documents."""
        wanted = query_terms(query, self._languages)[:_MAX_QUERY_TERMS]
        if self._bm25 is None or not wanted:
            return []
        scores = self._bm25.get_scores(wanted)
        found: dict[int, list[tuple[int, float]]] = {}
        for position in np.argsort(-scores, kind="stable"):
            score, document = float(scores[position]), self._documents[position]
            if score <= 0:
                break
            if document not in found and len(found) == limit:
                break
            of_document = found.setdefault(document, [])
            if len(of_document) < _MAX_PASSAGES and score >= _GOOD_ENOUGH * _first(of_document):
                of_document.append((self._passages[position], score))
        return [passage for of_document in found.values() for passage in of_document]


def _first(passages: Sequence[tuple[int, float]]) -> float:
    return passages[0][1] if passages else 0.0


class LibrarySearch:
    """Keeps the indexes of the last few sets of folders. Safe to share between threads."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[Version, _Index] = OrderedDict()
        self._lock = threading.Lock()

    def search(
        self, user: User | int, query: str, limit: int, folder: int | None = None
    ) -> list[SearchResult]:
        """Documents that the person may see, of one folder or of all, best first. `text` holds up
        to three passages, each verbatim from the document, in its order, with a blank line
        between."""
        best = self._index(user, folder).best(query, limit)
        rows = LibraryPassage.objects.visible_to(user).select_related("document")
        passages = rows.in_bulk([pk for pk, _ in best])
        # A scan may have replaced some since the index was made.
        fresh = [passages[pk] for pk, _ in best if pk in passages]
        return [
            _result(list(of_document))
            for _, of_document in groupby(fresh, key=attrgetter("document_id"))
        ]

    def _index(self, user: User | int, folder: int | None) -> _Index:
        folders = LibraryFolder.objects.visible_to(user).order_by("pk")
        if folder is not None:
            folders = folders.filter(pk=folder)
        version: Version = tuple(folders.values_list("pk", "scanned_at"))
        with self._lock:
            if version not in self._indexes:
                self._indexes[version] = _Index(_rows(version))
                while len(self._indexes) > _KEPT_INDEXES:
                    self._indexes.popitem(last=False)
            self._indexes.move_to_end(version)
            return self._indexes[version]


def _rows(version: Version) -> Iterable[tuple[int, int, str, list[str]]]:
    return (
        LibraryPassage.objects.filter(document__folder__in=[pk for pk, _ in version])
        .order_by("document__folder_id", "document__path", "start")
        .values_list("pk", "document_id", "document__language", "terms")
        .iterator(chunk_size=2_000)
    )


def _result(passages: list[LibraryPassage]) -> SearchResult:
    document: LibraryDocument = passages[0].document
    in_order = sorted(passages, key=attrgetter("start"))
    return SearchResult(
        title=document.title,
        url=f"/library/{document.pk}",
        text="\n\n".join(document.text[one.start : one.end] for one in in_order),
        published_at=(
            datetime.combine(document.updated_on, time(), UTC) if document.updated_on else None
        ),
    )
