"""Whether what is stored of a conversation is what a history built afresh in memory knows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from memory.engine.history import History
from memory.index_models import Mark
from memory.ports import MessageReader
from memory.stored.chains import path_to
from memory.stored.counted import StoredLedger
from memory.stored.index import StoredIndex
from memory.stored.indexing import forget_index, index_path
from memory.stored.places import Places
from memory.stored.reading import StoredHistory
from memory.stored.totals import Totals

_TERMS_A_QUERY = 500
_ANY_BUDGET = 10_000_000


def rebuild(reader: MessageReader, conversation_id: int) -> int:
    """Index a conversation anew, every branch of it; says how many messages are indexed."""
    forget_index(conversation_id)
    for leaf in reader.read(reader.leaves(conversation_id)):
        index_path(reader, leaf.owner_id, conversation_id, leaf.pk)
    return Mark.objects.filter(block__state_id=conversation_id).count()


def differences(reader: MessageReader, conversation_id: int) -> list[str]:
    """In what the stored index differs from the messages, in plain words; empty where it does not.

    What is not indexed yet is no difference.
    """
    found: list[str] = []
    for leaf in reader.leaves(conversation_id):
        path = reader.path(conversation_id, leaf)
        marks = Mark.objects.filter(message_id__in=path).select_related("block")
        mark = max(marks, key=lambda one: path.index(one.message_id), default=None)
        if mark is not None:
            messages = path[: path.index(mark.message_id) + 1]
            found += [
                f"Up to message {mark.message_id}: {w}" for w in _on_path(reader, mark, messages)
            ]
    return found


def _on_path(reader: MessageReader, mark: Mark, path: Sequence[int]) -> Iterator[str]:
    read = {one.pk: one for one in reader.read(path)}
    history = History(part for pk in path for part in read[pk].parts)
    totals = Totals.from_json(mark.totals)
    if totals.n_parts != len(history) or totals.n_rows != history.layout.n_rows:
        yield (
            f"{totals.n_rows} rows of {totals.n_parts} parts are stored, not "
            f"{history.layout.n_rows} of {len(history)}"
        )
        return
    stored = StoredHistory(path_to(mark), totals, reader.read_parts, "", _ANY_BUDGET)
    stored.read_entries(range(len(history)))
    yield from _lines(stored, history)
    yield from _columns(stored.places, history)
    yield from _lists(stored.places, totals, history)
    yield from _terms(stored.stored_index, history)


def _lines(stored: StoredHistory, history: History) -> Iterator[str]:
    """The lines, and what was done to them."""
    for number, entry in enumerate(history.entries):
        if stored.entries[number] != entry:
            yield f"message {entry.message.id} lies otherwise"
    rows = history.layout.rows.values.tolist()
    closed = [row for row in rows if stored.is_closed(row) != history.is_closed(row)]
    if closed:
        yield f"{len(closed)} lines are closed in one and open in the other"
    shown = [row for row in rows if stored.shown(row) != history.shown(row)]
    if shown:
        yield f"{len(shown)} lines read otherwise"


def _columns(places: Places, history: History) -> Iterator[str]:
    places.fetch_columns(history.layout.rows.values)
    for name in ("length", "around_length", "end_slot", "speaker", "by_user", "is_talk"):
        one, two = (getattr(layout, name).values for layout in (places.layout, history.layout))
        if not np.array_equal(one, two):
            yield f"the column {name} is another"
    if places.layout.sums != history.layout.sums:
        yield "the sums of lengths are others"


def _lists(places: Places, totals: Totals, history: History) -> Iterator[str]:
    ledger = StoredLedger(places, totals, "", _ANY_BUDGET)
    for topic in {**ledger.tallies, **history.ledger.tallies}:
        if topic not in ledger.tallies or topic not in history.ledger.tallies:
            yield f"the list of {topic} is in one alone"
        elif ledger.entry(topic) != history.ledger.entry(topic):
            yield f"the list of {topic} is another"


def _terms(index: StoredIndex, history: History) -> Iterator[str]:
    terms = sorted(
        {term for row in range(history.layout.n_rows) for term in history.index.terms_of(row)}
    )
    wrong = 0
    for start in range(0, len(terms), _TERMS_A_QUERY):
        some = terms[start : start + _TERMS_A_QUERY]
        index.fetch(some)
        wrong += sum(
            not all(map(np.array_equal, index.tf(term), history.index.tf(term))) for term in some
        )
    if wrong:
        yield f"{wrong} of {len(terms)} terms occur elsewhere"
