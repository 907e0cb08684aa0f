"""Searching all that one owner said and read: any word matches, the best line of each message.

BM25 over bare lines with the index that recall reads. Abandoned branches are searched too: they are
the owner's, and what was said there was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from memory.engine.analysis import clean_text_of
from memory.engine.index import K1, B, idf
from memory.engine.terms import terms_of
from memory.engine.values import Message, Role, Span
from memory.index_models import Block, Part, Posting
from memory.ports import MessageReader
from memory.stored.chains import place_of
from memory.stored.formats import (
    BY_USER,
    COLUMNS,
    DIRECTORY,
    POSTING,
    TALK,
    VERSION,
    lines_of,
    term_key,
    unpacked,
)

EXCERPT_CHARS = 500
_MOST_TERMS = 200
_PARTS_A_MESSAGE = 10
_KINDS: dict[Role, int] = {"user": TALK | BY_USER, "assistant": TALK, "tool": 0}


@dataclass(frozen=True, slots=True)
class FoundLine:
    """The line of a message that answers best, with what stands round it. `key` names what holds
    it: "m12" is the message itself, "s40" a page read for it. `match` is the line's place in the
    excerpt, which has at most 500 characters."""

    conversation_id: int
    message_id: int
    key: str
    role: Role
    at: datetime | None
    excerpt: str
    match: Span
    score: float


class _Hits(NamedTuple):
    """Rows that match, by place of their part and number of the row in it, with their scores."""

    places: NDArray[np.int64]
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


def search(
    reader: MessageReader,
    owner_id: int,
    query: str,
    *,
    limit: int = 20,
    conversation_id: int | None = None,
    role: Role | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[FoundLine]:
    """The best lines, one a message, best first, ties by the newer."""
    blocks = Block.objects.filter(owner_id=owner_id, state__version=VERSION)
    if conversation_id is not None:
        blocks = blocks.filter(state_id=conversation_id)
    terms = list(dict.fromkeys(map(term_key, terms_of(query))))[:_MOST_TERMS]
    if limit <= 0 or not terms:
        return []
    hits = _score(blocks, terms, role)
    if since or until:
        hits = _only(hits, _places_between(blocks, since, until))
    return _told(reader, _best_of_parts(hits, limit * _PARTS_A_MESSAGE), limit)


# --- Scores --------------------------------------------------------------------------------------


def _score(blocks: QuerySet[Block], terms: Sequence[str], role: Role | None) -> _Hits:
    postings = Posting.objects.filter(block__in=blocks, term__in=terms)
    read = [(t, b, np.frombuffer(bytes(d), POSTING)) for t, b, d in postings.values_list(
        "term", "block_id", "data")]  # fmt: skip
    n_lines = sum(n_rows - n for n_rows, n in blocks.values_list("n_rows", "n_parts"))
    layouts = _layouts({block for _, block, _ in read})
    known = [rows.length for rows in layouts.values()]
    average = float(np.concatenate(known).mean()) if known else 1.0
    counts: dict[str, int] = {}
    for term, _, held in read:
        counts[term] = counts.get(term, 0) + len(held)
    scores = {block: np.zeros(len(rows.length)) for block, rows in layouts.items()}
    for term, block, held in read:
        times = held["times"].astype(np.float64)
        norms = K1 * (1 - B + B * layouts[block].length[held["row"]] / (average or 1.0))
        scores[block][held["row"]] += idf(n_lines, counts[term]) * times / (times + norms)
    return _hits(scores, layouts, role)


class _Layout(NamedTuple):
    """Of a block: the terms of every row, headings among them, and its parts."""

    length: NDArray[np.float64]
    first_rows: NDArray[np.int64]
    flags: NDArray[np.uint8]


def _layouts(blocks: Iterable[int]) -> dict[int, _Layout]:
    rows = Block.objects.filter(pk__in=blocks).values_list("pk", "directory", "columns")
    return {pk: _layout(bytes(directory), bytes(columns)) for pk, directory, columns in rows}


def _layout(directory: bytes, columns: bytes) -> _Layout:
    parts, lines = unpacked(directory, DIRECTORY), unpacked(columns, COLUMNS)
    n_lines = parts["lines"].astype(np.int64)
    first_rows = np.cumsum(n_lines + 1) - n_lines - 1
    is_line = np.ones(len(lines) + len(parts), np.bool_)
    is_line[first_rows] = False
    length = np.zeros(len(is_line))
    length[is_line], length[first_rows] = lines["length"], parts["heading"]
    return _Layout(length, first_rows, parts["flags"])


def _hits(
    scores: dict[int, NDArray[np.float64]], layouts: dict[int, _Layout], role: Role | None
) -> _Hits:
    places, numbers, found = [], [], []
    for block, scored in scores.items():
        layout = layouts[block]
        rows = np.flatnonzero(scored)
        at = np.searchsorted(layout.first_rows, rows, side="right") - 1
        if role is not None:
            wanted = (layout.flags[at] & (TALK | BY_USER)) == _KINDS[role]
            rows, at = rows[wanted], at[wanted]
        places.append(place_of(np.int64(block), at))
        numbers.append(rows - layout.first_rows[at])
        found.append(scored[rows])
    none = np.zeros(0, np.int64)
    return _Hits(
        np.concatenate([none, *places]),
        np.concatenate([none, *numbers]),
        np.concatenate([np.zeros(0), *found]),
    )


def _places_between(
    blocks: QuerySet[Block], since: datetime | None, until: datetime | None
) -> NDArray[np.int64]:
    parts = Part.objects.filter(block__in=blocks)
    if since:
        parts = parts.filter(said_at__gte=since)
    if until:
        parts = parts.filter(said_at__lt=until)
    return np.array(list(parts.values_list("place", flat=True)), np.int64)


def _only(hits: _Hits, places: NDArray[np.int64]) -> _Hits:
    kept = np.isin(hits.places, places)
    return _Hits(hits.places[kept], hits.rows[kept], hits.scores[kept])


def _best_of_parts(hits: _Hits, limit: int) -> list[tuple[int, int, float]]:
    """Place, row and score of the best row of each part, best first, at most `limit`."""
    order = np.lexsort((hits.rows, -hits.places, -hits.scores))
    _, first = np.unique(hits.places[order], return_index=True)
    best = order[np.sort(first)][:limit]
    return list(zip(*(column[best].tolist() for column in hits), strict=True))


# --- What is told --------------------------------------------------------------------------------


def _told(
    reader: MessageReader, best: Sequence[tuple[int, int, float]], limit: int
) -> list[FoundLine]:
    parts = Part.objects.filter(place__in=[place for place, _, _ in best]).select_related("block")
    by_place = {part.place: part for part in parts.defer("block__directory", "block__columns")}
    chosen: dict[int, tuple[Part, int, float]] = {}
    for place, row, score in best:
        part = by_place.get(place)
        if part and len(chosen) < limit:
            chosen.setdefault(part.message_id, (part, row, score))
    read = {str(m.id): m for m in reader.read_parts([part.key for part, _, _ in chosen.values()])}
    return [
        _found(part, read[part.key], row, score)
        for part, row, score in chosen.values()
        if part.key in read
    ]


def _found(part: Part, message: Message, row: int, score: float) -> FoundLine:
    text = message.text if part.as_written else clean_text_of(message)[0]
    lines = lines_of(bytes(part.spans))
    span = lines[max(row - 1, 0)].span if lines else Span(0, 0)
    excerpt, match = _excerpt(text, span)
    return FoundLine(
        conversation_id=part.block.state_id,
        message_id=part.message_id,
        key=part.key,
        role=message.role,
        at=message.at,
        excerpt=excerpt,
        match=match,
        score=score,
    )


def _excerpt(text: str, span: Span) -> tuple[str, Span]:
    """The line with what is round it, cut at blanks where there are some; a cut shows as "…"."""
    room = max(0, EXCERPT_CHARS - 2 - (span.end - span.start))
    start = max(0, span.start - room // 2)
    end = min(len(text), span.end + room - (span.start - start))
    if start:
        blank = text.find(" ", start, span.start)
        start = blank + 1 if blank >= 0 else start
    if end < len(text):
        blank = text.rfind(" ", span.end, end)
        end = blank if blank >= 0 else end
    before = "…" if start else ""
    match = Span(span.start - start + len(before), span.end - start + len(before))
    return f"{before}{text[start:end]}{'…' if end < len(text) else ''}", match
