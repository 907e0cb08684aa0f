"""Searching a history: a query to ranked places with what stands round them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from memory.engine.history import History
from memory.engine.question import Asked
from memory.engine.ranker import rank
from memory.engine.values import Span


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that answers a query: `excerpt` is the line with its neighbours in the message,
    `span` the line's place in the message's clean text. `parts` sum up to `score`."""

    message_id: str | int
    span: Span
    line: str
    excerpt: str
    score: float
    parts: dict[str, float]


def search(history: History, query: str, *, limit: int = 20, n_around: int = 1) -> list[Hit]:
    """The best lines for a query, one a message, best first; none for a query without terms.

    Any term may match. Closed versions are found too: a search is for what was said, true or not.
    """
    terms = dict.fromkeys(history.terms(query), 1.0)
    if not terms or limit <= 0:
        return []
    ranked = rank(history, Asked(query, terms))
    rows = history.layout.rows.values
    hits: list[Hit] = []
    seen: set[str | int] = set()
    for position in chain.from_iterable(ranked.in_pieces(limit)):
        row = int(rows[position])
        entry, number = history.entry_of(row)
        shared = terms.keys() & history.index.terms_of(row)
        matches = history.vectors is not None or shared
        if entry.message.id in seen or not matches:
            continue
        seen.add(entry.message.id)
        around = range(max(0, number - n_around), min(len(entry.lines), number + n_around + 1))
        hits.append(
            Hit(
                entry.message.id,
                entry.lines[number].span,
                history.shown(row),
                "\n".join(entry.line_text(at).strip() for at in around),
                float(ranked.scores[position]),
                ranked.parts([position])[0],
            )
        )
        if len(hits) == limit:
            break
    return hits
