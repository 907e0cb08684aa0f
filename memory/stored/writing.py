"""Writing a stretch of a path: what the messages say, and what they do to older lines.

Nothing here asks who else writes: the caller holds the conversation's row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from memory.engine.analysis import Analysed
from memory.engine.ledger import name_of, topics_of
from memory.engine.tokens import estimate_tokens
from memory.index_models import Block, Event, IndexState, Mark, Part
from memory.stored.chains import chain_of, on_path, path_to, place_of
from memory.stored.closing import Closer, ReadParts
from memory.stored.formats import (
    BY_USER,
    COLUMNS,
    DIRECTORY,
    JOINS,
    MOST,
    POSTING,
    TALK,
    appended,
    dates_as_json,
    line_key,
    short_hash,
    spans_of,
    term_key,
)
from memory.stored.postings import append_postings
from memory.stored.totals import Totals

PARTS_A_BLOCK = 256
ROWS_A_BLOCK = 8_192


@dataclass(slots=True)
class _Fresh:
    """What a block gains."""

    directory: list[tuple[int, int, int, int]] = field(default_factory=list)
    columns: list[tuple[int, int, int]] = field(default_factory=list)
    postings: defaultdict[str, list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )


class Writer:
    """Goes on from `base`, the last message of the path that is indexed, or begins a path."""

    def __init__(self, state: IndexState, base: Mark | None, read_parts: ReadParts) -> None:
        self._state = state
        self.totals = Totals.from_json(base.totals) if base else Totals()
        self._base = path_to(base) if base else {}
        self._chain = self._base
        self._block: Block | None = None
        if base and base.end == base.block.n_parts:
            self._block, self._chain = base.block, chain_of(base.block.chain)
        self._fresh = _Fresh()
        self._parts: list[Part] = []
        self._events: list[Event] = []
        self._marks: list[Mark] = []
        self._named: set[tuple[str, str]] = set()
        self._closer = Closer(self._base, read_parts)

    def write(self, messages: Sequence[tuple[int, Sequence[Analysed]]]) -> None:
        """Take in stored messages, each with all that it unfolds to, in the order of the path."""
        every = [analysed for _, parts in messages for analysed in parts]
        self._closer.prepare(every)
        self._named = self._names_before(every)
        for message_id, parts in messages:
            for analysed in parts:
                self._add_part(message_id, analysed)
            block = self._block or self._open()
            mark = Mark(message_id=message_id, block=block, end=block.n_parts)
            mark.totals = self.totals.as_json()
            self._marks.append(mark)
        self._flush()

    def _names_before(self, messages: Iterable[Analysed]) -> set[tuple[str, str]]:
        """Which of the names that come up were counted before on the path, and where."""
        keys = {short_hash(name_of(one.call)) for one in messages if one.call}
        rows = Event.objects.filter(block_id__in=self._base, name_key__in=keys, is_first=True)
        return {(row.topic, row.name_key) for row in on_path(rows, self._base)}

    def _add_part(self, message_id: int, analysed: Analysed) -> None:
        block = self._block
        if block is None or block.n_parts >= PARTS_A_BLOCK or block.n_rows >= ROWS_A_BLOCK:
            block = self._open()
        joins = self.totals.joins(analysed.message)
        part = _part(message_id, block, analysed, self.totals.n_rows + 1)
        self._lay(analysed, joins)
        self._post(block, analysed)
        self._note_events(part, analysed)
        self._closer.take(part, analysed)
        self._parts.append(part)
        self.totals.take(analysed, joins=joins)
        block.n_parts += 1
        block.n_rows += 1 + len(analysed.lines)

    def _open(self) -> Block:
        """A new block behind the one that was written so far."""
        if self._block is not None:
            self._save_block(self._block)
            self._chain = {**self._chain, self._block.pk: self._block.n_parts}
        self._block = Block.objects.create(
            state=self._state,
            owner_id=self._state.owner_id,
            chain=[list(link) for link in self._chain.items()],
            first_part=self.totals.n_parts,
            first_row=self.totals.n_rows,
        )
        self._fresh = _Fresh()
        return self._block

    def _lay(self, analysed: Analysed, joins: bool) -> None:
        message = analysed.message
        flags = TALK * (message.role != "tool") | BY_USER * (message.role == "user") | JOINS * joins
        speaker = self.totals.speaker(message.speaker)
        heading = len(analysed.heading)
        self._fresh.directory.append((len(analysed.lines), heading, flags, speaker))
        for number, line in enumerate(analysed.lines):
            cost = min(estimate_tokens(analysed.shown(number) + "\n"), MOST)
            self._fresh.columns.append((len(analysed.terms[number]), line.n_inside, cost))

    def _post(self, block: Block, analysed: Analysed) -> None:
        postings, row = self._fresh.postings, block.n_rows
        for term, times in Counter(analysed.heading).items():
            postings[term_key(term)].append((row, min(times, MOST)))
        for number, terms in enumerate(analysed.terms):
            row += 1
            for term, times in Counter(terms).items():
                postings[term_key(term)].append((row, times))
            postings[line_key(analysed.bare(number))].append((row, 1))

    def _note_events(self, part: Part, analysed: Analysed) -> None:
        if analysed.call is None:
            return
        name = name_of(analysed.call)
        key = short_hash(name)
        for topic in topics_of(analysed.call, ok=analysed.message.ok):
            is_first = (topic, key) not in self._named
            self._named.add((topic, key))
            counts = self.totals.topics.setdefault(topic, [0, 0])
            counts[0] += 1
            counts[1] += is_first
            event = Event(block_id=part.block_id, position=part.position, topic=topic)
            event.name, event.name_key, event.is_first = name, key, is_first
            self._events.append(event)

    def _flush(self) -> None:
        if self._block is not None:
            self._save_block(self._block)
        Part.objects.bulk_create(self._parts, batch_size=500)
        self._closer.flush()
        Event.objects.bulk_create(self._events, batch_size=500)
        Mark.objects.bulk_create(self._marks, batch_size=500)

    def _save_block(self, block: Block) -> None:
        fresh = self._fresh
        if not fresh.directory:
            return
        block.directory = appended(bytes(block.directory), np.array(fresh.directory, DIRECTORY))
        block.columns = appended(bytes(block.columns), np.array(fresh.columns, COLUMNS))
        block.save(update_fields=("directory", "columns", "n_parts", "n_rows"))
        append_postings(
            block.pk,
            {term: np.array(rows, POSTING).tobytes() for term, rows in fresh.postings.items()},
        )
        self._fresh = _Fresh()


def _part(message_id: int, block: Block, analysed: Analysed, first_row: int) -> Part:
    return Part(
        message_id=message_id,
        block=block,
        position=block.n_parts,
        place=place_of(block.pk, block.n_parts),
        key=str(analysed.message.id),
        said_at=analysed.message.at,
        first_row=first_row,
        n_lines=len(analysed.lines),
        spans=spans_of(analysed.lines),
        as_written=analysed.text == analysed.message.text,
        dates=dates_as_json(analysed.dates),
    )
