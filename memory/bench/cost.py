"""What a turn costs as the history grows: 80 new lines land, then one question is asked."""

from __future__ import annotations

import random
import re
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from rank_bm25 import BM25Okapi

from memory.bench.library import source_files
from memory.engine.history import History
from memory.engine.values import Message

SIZES = (1_000, 10_000, 50_000, 100_000)
NEW_LINES = 80
BUDGET_TOKENS = 2000
QUESTION = "What is the default size of the buffer in the reader?"
_TURNS = 11

Turn = Callable[[Sequence[str]], object]
"""Takes the new lines in and answers the question."""


@dataclass(frozen=True, slots=True)
class CostRow:
    """Medians in milliseconds; `write_ms` and `pack_ms` where the two can be told apart."""

    packer: str
    n_lines: int
    turn_ms: float
    write_ms: float | None = None
    pack_ms: float | None = None


def measure_cost(sizes: Sequence[int] = SIZES) -> list[CostRow]:
    rows = []
    for size in sizes:
        rows.append(_engine(size))
        for name, start in _RIVALS.items():
            if name == "bm25s, rebuilt" and not find_spec("bm25s"):
                continue
            if name == "tantivy on disk" and not find_spec("tantivy"):
                continue
            n_turns = 3 if "rebuilt" in name else _TURNS
            rows.append(CostRow(name, size, _median_turn(start, size, n_turns)))
    return rows


def _chunks(n_lines: int, seed: str) -> Iterator[list[str]]:
    """Stretches of code of `NEW_LINES` lines each, as tools print them."""
    rows = [row for file in source_files() for row in file.lines if row.strip()]
    rng = random.Random(seed)
    for _ in range(n_lines // NEW_LINES):
        start = rng.randrange(len(rows) - NEW_LINES)
        yield rows[start : start + NEW_LINES]


def _engine(size: int) -> CostRow:
    history = History()

    def add(number: int, rows: Sequence[str]) -> None:
        target = f"lib/file_{number % 40}.py"
        args = {"offset": number}
        history.add(
            Message(number, "tool", "\n".join(rows), tool="read_file", target=target, args=args)
        )

    old = list(_chunks(size, "old"))
    for number, rows in enumerate(old):
        add(number, rows)
    writes, packs = [], []
    for number, rows in enumerate(_chunks(_TURNS * NEW_LINES, "new"), len(old)):
        started = time.perf_counter()
        add(number, rows)
        written = time.perf_counter()
        history.pack(QUESTION, BUDGET_TOKENS)
        packs.append(1000 * (time.perf_counter() - written))
        writes.append(1000 * (written - started))
    turn = statistics.median(a + b for a, b in zip(writes, packs, strict=True))
    return CostRow(
        "product, words", size, turn, statistics.median(writes), statistics.median(packs)
    )


def _median_turn(start: Callable[[Sequence[str]], Turn], size: int, n_turns: int) -> float:
    turn = start([row for rows in _chunks(size, "old") for row in rows])
    taken = []
    for rows in _chunks(n_turns * NEW_LINES, "new"):
        started = time.perf_counter()
        turn(rows)
        taken.append(1000 * (time.perf_counter() - started))
    return statistics.median(taken)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _rank_bm25(old: Sequence[str]) -> Turn:
    held = list(old)

    def turn(rows: Sequence[str]) -> object:
        held.extend(rows)
        return BM25Okapi([_words(row) or [""] for row in held]).get_scores(_words(QUESTION))

    return turn


def _bm25s(old: Sequence[str]) -> Turn:
    import bm25s

    held = list(old)

    def turn(rows: Sequence[str]) -> object:
        held.extend(rows)
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        index.index([_words(row) or [""] for row in held], show_progress=False)
        return index.retrieve([_words(QUESTION)], k=100, show_progress=False)

    return turn


def _fts5(old: Sequence[str]) -> Turn:
    connection = sqlite3.connect(":memory:")
    connection.execute("create virtual table line using fts5(text)")
    connection.executemany("insert into line values (?)", [(row,) for row in old])
    asked = " OR ".join(f'"{word}"' for word in _words(QUESTION))

    def turn(rows: Sequence[str]) -> object:
        connection.executemany("insert into line values (?)", [(row,) for row in rows])
        return connection.execute(
            "select rowid from line where line match ? order by rank limit 100", (asked,)
        ).fetchall()

    return turn


def _tantivy(old: Sequence[str]) -> Turn:
    import tempfile

    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("text", stored=False).build()
    index = tantivy.Index(schema, path=tempfile.mkdtemp(prefix="bench-tantivy-"))
    writer = index.writer(num_threads=1)

    def add(rows: Sequence[str]) -> None:
        for row in rows:
            writer.add_document(tantivy.Document(text=row))
        writer.commit()
        index.reload()

    add(old)

    def turn(rows: Sequence[str]) -> object:
        add(rows)
        query = index.parse_query(" ".join(_words(QUESTION)), ["text"])
        return index.searcher().search(query, 100)

    return turn


_RIVALS: dict[str, Callable[[Sequence[str]], Turn]] = {
    "rank-bm25, rebuilt": _rank_bm25,
    "bm25s, rebuilt": _bm25s,
    "SQLite FTS5 in memory": _fts5,
    "tantivy on disk": _tantivy,
}
