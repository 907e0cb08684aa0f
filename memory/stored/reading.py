"""A path's history as the engine reads it: the unchanged ranker and packer over what was fetched.

The lines of a path are all there as zeros; filled are the columns of the blocks that the question
touches, and the texts of the messages whose lines may be packed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.engine.analysis import clean_text_of
from memory.engine.calls import read_call
from memory.engine.columns import Column
from memory.engine.entries import Entry
from memory.engine.history import History
from memory.engine.plan import Plan
from memory.engine.ports import Embedder
from memory.engine.tokens import CountTokens, estimate_tokens
from memory.engine.values import Message
from memory.index_models import Part
from memory.stored.chains import Chain
from memory.stored.closing import ReadParts, closings_on
from memory.stored.counted import StoredLedger
from memory.stored.formats import BY_USER, MOST, TALK, dates_of, line_key, lines_of
from memory.stored.index import StoredIndex
from memory.stored.indexing import StaleIndex
from memory.stored.meaning import StoredVectors
from memory.stored.places import Places
from memory.stored.totals import Totals

_UNKNOWN_COST = 6
_SPARE = 2.0
_SPARE_LINES = 150
_READ = (
    "place", "key", "first_row", "spans", "as_written", "dates", "closings",
)  # fmt: skip


class _Entries(Sequence[Entry]):
    """The messages of a path by number. One that was not fetched yet is fetched when asked for."""

    def __init__(self, size: int, fetch: Callable[[Sequence[int]], None]) -> None:
        self._size = size
        self._fetch = fetch
        self.held: dict[int, Entry] = {}

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> Entry:  # type: ignore[override]
        if number not in self.held:
            self._fetch([number])
        return self.held[number]


class StoredHistory(History):
    """The history that ends with a message, for one question."""

    def __init__(
        self,
        chain: Chain,
        totals: Totals,
        read_parts: ReadParts,
        question: str,
        budget_tokens: int,
        *,
        count_tokens: CountTokens = estimate_tokens,
        embedder: Embedder | None = None,
    ) -> None:
        self.places = Places(chain, totals)
        self._read_parts = read_parts
        self._totals = totals
        self.count_tokens = count_tokens
        self.plan = Plan()
        self.embedder, self.vectors = embedder, None
        self._stored_vectors = StoredVectors(self.places, embedder) if embedder else None
        if self._stored_vectors and not self._stored_vectors.is_empty:
            self.vectors = self._stored_vectors
        self.notices = []
        self.layout = self.places.layout
        self.n_bytes = totals.n_bytes
        self.stored_index = StoredIndex(self.places)
        self.index = self.stored_index
        self.ledger = StoredLedger(self.places, totals, question, budget_tokens)
        self.closed_by = Column.of(np.full(totals.n_rows, -1, np.int32))
        self._entries = _Entries(totals.n_parts, self.read_entries)
        self.entries = self._entries  # type: ignore[assignment]
        self._texts, self._dates, self._shown, self._heading_costs = {}, {}, {}, {}
        self._costs, self._past_costs = {}, {}
        self._numbers_of_texts, self._times = {}, array("i")
        self._times_of: dict[int, int] = {}
        self._speakers = {name: number for number, name in enumerate(totals.speakers)}

    # --- What is fetched beforehand --------------------------------------------------------------

    def read_terms(self, terms: Iterable[str]) -> None:
        self.stored_index.fetch(terms)

    def before_ranking(self, terms: Iterable[str]) -> None:
        terms = list(terms)
        self.stored_index.fetch(terms)
        self.places.fetch_columns(self.stored_index.rows_of(terms))

    def read_ahead(self, rows: NDArray[np.int64], left: int) -> int:
        """As many as a budget may want, by what each line costs: the rest waits."""
        rows = rows[: int(_SPARE * left) + _SPARE_LINES]  # a line costs a token or more
        known = self.places.cost[rows - self.layout.message.values[rows] - 1]
        spent = np.cumsum(np.where(known > 0, known, _UNKNOWN_COST))
        n = int(np.searchsorted(spent, _SPARE * left)) + _SPARE_LINES
        self.read_entries(np.unique(self.layout.message.values[rows[:n]]).tolist())
        return min(n, len(rows))

    def read_entries(self, numbers: Sequence[int]) -> None:
        """The messages of these numbers with all that was done to their lines, in two steps: their
        places, their texts."""
        missing = [number for number in numbers if number not in self._entries.held]
        if not missing:
            return
        parts = self._parts_at(missing)
        texts = {str(m.id): m for m in self._read_parts([part.key for part in parts.values()])}
        for number in missing:
            part = parts.get(number)
            if part is None or part.key not in texts:
                raise StaleIndex(number)
            self._hold(number, part, texts[part.key])

    def _parts_at(self, numbers: Sequence[int]) -> dict[int, Part]:
        number_of = self.places.places_of(numbers)
        parts = Part.objects.filter(place__in=number_of).only(*_READ)
        return {number_of[part.place]: part for part in parts}

    def _hold(self, number: int, part: Part, message: Message) -> None:
        text, call = message.text, read_call(message)
        if not part.as_written:
            text, call = clean_text_of(message)
        entry = Entry(message, text, lines_of(bytes(part.spans)), part.first_row, call)
        self._entries.held[number] = entry
        first = part.first_row
        self._dates |= {first + line: dates for line, dates in dates_of(part.dates).items()}
        closing = closings_on(part, self.places.chain)
        self._texts |= {first + line: text for line, text in closing.texts.items()}
        self.closed_by.values[[first + line for line in closing.closed]] = number

    def read_tokens(self, rows: NDArray[np.int64]) -> None:
        if self._stored_vectors:
            self._stored_vectors.fetch_tokens(rows)

    def before_reasons(self, rows: Sequence[int]) -> None:
        keys = {row: line_key(self._bare(row)) for row in rows}
        found = self.stored_index.postings(set(keys.values()))
        self._times_of = {row: len(found[key][0]) for row, key in keys.items()}

    # --- As the engine asks ----------------------------------------------------------------------

    def __contains__(self, message_id: object) -> bool:
        return bool(self.numbers_of([str(message_id)]))

    def same(self, row: int, *, past: bool = False) -> int:
        renewed = None if past else self._texts.get(row)
        return self._text_number(self._bare(row) if renewed is None else renewed)

    def _bare(self, row: int) -> str:
        entry, number = self.entry_of(row)
        line = entry.lines[number]
        return entry.text[line.body : line.end]

    def times(self, row: int) -> int:
        return self._times_of[row]

    def numbers_of(self, message_ids: Collection[str | int]) -> set[int]:  # type: ignore[override]
        if not message_ids:
            return set()
        keys = [str(name) for name in message_ids]
        parts = Part.objects.filter(block_id__in=self.places.chain, key__in=keys)
        return set(self.places.numbers_on_path(parts.values_list("block_id", "position")))

    def n_lines_of(self, number: int) -> int:
        return int(self.places.n_lines_of_part[number])

    def last_talk(self) -> list[str]:
        numbers = list(self._last_said())
        self.read_entries(numbers)
        return [self.entries[number].text for number in reversed(numbers)]

    def _last_said(self) -> Iterator[int]:
        """The numbers of the last answer and its question, or of the last question alone."""
        parts = self.places.parts
        n_said = 0
        for number in np.flatnonzero(parts["flags"] & TALK)[::-1].tolist():
            if parts["lines"][number]:
                n_said += 1
                yield number
            if n_said == 2 or (n_said and parts["flags"][number] & BY_USER):
                return

    def cost(self, row: int, *, past: bool = False) -> int:
        """As it was counted when it was written, where that is what would be counted now."""
        known = int(self.places.cost[self.layout.position(row)])
        if (
            past
            or self.is_renewed(row)
            or not 0 < known < MOST
            or self.count_tokens is not estimate_tokens
        ):
            return super().cost(row, past=past)
        return known
