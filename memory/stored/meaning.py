"""Vectors of stored lines: encoded in the background, read when a question is asked.

Without an encoder, and for what none has reached yet, words do the work. A failing encoder is told
in the conversation's state and stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from django.db import IntegrityError, transaction
from numpy.typing import NDArray

from memory.engine.analysis import clean_text_of
from memory.engine.columns import Column
from memory.engine.entries import Entry, joins_talk, to_encode
from memory.engine.errors import EmbedderFailed
from memory.engine.ports import Embedder, Embedding
from memory.engine.values import Message
from memory.engine.vectors import Vectors, compress
from memory.index_models import IndexState, Part, PartVectors
from memory.ports import MessageReader
from memory.stored.chains import place_of
from memory.stored.formats import lines_of
from memory.stored.places import Places

# --- Writing -------------------------------------------------------------------------------------


def encode_pending(reader: MessageReader, embedder: Embedder, limit: int) -> int:
    """Encode parts that have no vectors of this encoder, oldest first; says how many it did."""
    parts = list(
        Part.objects.exclude(space=embedder.name)
        .select_related("block")
        .defer("block__directory", "block__columns")
        .order_by("pk")[:limit]
    )
    before = _parts_before(parts)
    keys = {part.key for part in [*parts, *before.values()]}
    texts = {str(message.id): message for message in reader.read_parts(keys)}
    for number, part in enumerate(parts):
        if part.key not in texts:
            continue
        entry = _entry(part, texts)
        last = before.get(_place_before(part))
        joins = last and last.key in texts and joins_talk(texts[last.key], texts[part.key])
        try:
            _encode(part, entry, _entry(last, texts) if last and joins else None, embedder)
        except EmbedderFailed as error:
            IndexState.objects.filter(pk=part.block.state_id).update(problem=str(error)[:500])
            return number
    IndexState.objects.filter(pk__in={p.block.state_id for p in parts}).exclude(problem="").update(
        problem=""
    )
    return len(parts)


def _place_before(part: Part) -> int:
    """The place of the part before it on its path; 0 where there is none."""
    if part.position:
        return int(part.place) - 1
    return (
        int(place_of(part.block.chain[-1][0], part.block.chain[-1][1] - 1))
        if part.block.chain
        else 0
    )


def _parts_before(parts: Iterable[Part]) -> dict[int, Part]:
    places = set(map(_place_before, parts))
    return {part.place: part for part in Part.objects.filter(place__in=places)}


def _entry(part: Part, texts: dict[str, Message]) -> Entry:
    message = texts[part.key]
    text, call = clean_text_of(message)
    return Entry(message, text, lines_of(bytes(part.spans)), part.first_row, call)


def _encode(part: Part, entry: Entry, before: Entry | None, embedder: Embedder) -> None:
    texts, contexts = to_encode(entry, before)
    found = embedder.encode(texts, contexts) if texts else []
    pooled = np.zeros((len(texts), embedder.dimensions), np.float16)
    for number, embedding in enumerate(found):
        if embedding is not None:
            pooled[number] = embedding.pooled
    tokens = _token_bytes(found) if entry.message.role != "tool" else b""
    try:
        with transaction.atomic():
            PartVectors.objects.update_or_create(
                part=part, defaults={"pooled": pooled.tobytes(), "tokens": tokens}
            )
            Part.objects.filter(pk=part.pk).update(space=embedder.name)
    except IntegrityError:  # the part was deleted meanwhile
        return


def _token_bytes(found: Sequence[Embedding | None]) -> bytes:
    """How many tokens each line has, then all their vectors, a byte a component."""
    held = [one.tokens if one is not None else None for one in found]
    if all(tokens is None or not len(tokens) for tokens in held):
        return b""
    counts = np.array([0 if tokens is None else len(tokens) for tokens in held], "<u4")
    return counts.tobytes() + b"".join(compress(t).tobytes() for t in held if t is not None)


# --- Reading -------------------------------------------------------------------------------------


class StoredVectors(Vectors):
    """The pooled vectors of a path; those of tokens for the lines that are asked for."""

    def __init__(self, places: Places, embedder: Embedder) -> None:
        super().__init__(embedder.dimensions)
        self._places = places
        self._space = embedder.name
        self.pooled = Column.of(np.zeros((places.n_rows, self.dimensions), np.float32))
        self.is_encoded = Column.of(np.zeros(places.n_rows, np.bool_))
        read = self._read("pooled")
        self.is_empty = not read
        for number, pooled in read:
            rows = np.frombuffer(pooled, np.float16).reshape(-1, self.dimensions)
            first = int(places.first_row_of_part[number]) + 1
            self.pooled.values[first : first + len(rows)] = rows
            self.is_encoded.values[first : first + len(rows)] = rows.any(axis=1)

    def _read(self, column: str) -> list[tuple[int, bytes]]:
        """Numbers of parts with what a column holds of them."""
        places = self._places
        rows = PartVectors.objects.filter(
            part__block_id__in=list(places.chain), part__space=self._space
        )
        found = rows.values_list("part__block_id", "part__position", column)
        return [
            (places.first_part_of_block[block] + position, bytes(data))
            for block, position, data in found
            if position < places.chain[block]
        ]

    def fetch_tokens(self, rows: NDArray[np.int64]) -> None:
        """Read the token vectors of these rows, in one query."""
        places = self._places
        numbers = np.unique(places.layout.message.values[rows]).tolist()
        number_of = places.places_of(numbers)
        found = PartVectors.objects.filter(part__place__in=number_of, part__space=self._space)
        for place, data in found.exclude(tokens=b"").values_list("part__place", "tokens"):
            first = int(places.first_row_of_part[number_of[place]]) + 1
            n_lines = int(places.n_lines_of_part[number_of[place]])
            self._lay(first, n_lines, bytes(data))

    def _lay(self, first: int, n_lines: int, data: bytes) -> None:
        counts = np.frombuffer(data, "<u4", n_lines)
        vectors = np.frombuffer(data, np.int8, offset=4 * n_lines).reshape(-1, self.dimensions)
        ends = np.cumsum(counts)
        for line in np.flatnonzero(counts).tolist():
            self.tokens[first + line] = vectors[ends[line] - counts[line] : ends[line]]
