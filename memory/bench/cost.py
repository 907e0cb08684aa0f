"""What a turn costs as the history grows: 80 new lines land, then one question is asked.

Processor time of one process, so that what else the machine does is left out; all packers in one
run, so that they can be read against each other. With vectors means: they are there. What an
encoder costs is measured by itself.
"""

from __future__ import annotations

import random
import re
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from rank_bm25 import BM25Okapi

from memory.bench.library import source_files
from memory.engine.history import History
from memory.engine.ports import Embedder, Embedding
from memory.engine.values import Message

SIZES = (1_000, 10_000, 50_000, 100_000)
NEW_LINES = 80
PAGE_LINES = 300
BUDGET_TOKENS = 2000
QUESTION = "What is the default size of the buffer in the reader?"
_TURNS = 15
_REBUILT_TURNS = 5
_LONGEST = 40

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


def measure_cost(sizes: Sequence[int] = SIZES, *, rivals: bool = True) -> list[CostRow]:
    rows = []
    for size in sizes:
        rows.append(_engine("product, words", size, None))
        rows.append(_engine("product, with vectors", size, RandomVectors()))
        for name, start in (_RIVALS if rivals else {}).items():
            if name == "bm25s, rebuilt" and not find_spec("bm25s"):
                continue
            if name == "tantivy on disk" and not find_spec("tantivy"):
                continue
            n_turns = _REBUILT_TURNS if "rebuilt" in name else _TURNS
            rows.append(CostRow(name, size, _median_turn(start, size, n_turns)))
    return rows


def measure_page(embedder: Embedder) -> float:
    """Milliseconds of processor time that the lines of one page take to encode."""
    lines = [row for chunk in _chunks(4 * NEW_LINES, "page") for row in chunk][:PAGE_LINES]
    contexts = ["", *lines[:-1]]
    started = time.process_time()
    embedder.encode(lines, contexts)
    return 1000 * (time.process_time() - started)


class RandomVectors:
    """Vectors without an encoder: what they cost to keep and to compare depends on nothing else."""

    name = "random"
    dimensions = 384

    def __init__(self) -> None:
        tokens = np.random.default_rng(0).standard_normal((_LONGEST, self.dimensions), np.float32)
        self._tokens = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)

    def knows(self, text: str) -> bool:
        return True

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> Sequence[Embedding]:
        return [self.encode_question(text) for text in texts]

    def encode_question(self, text: str) -> Embedding:
        words = tuple(_words(text)[:_LONGEST]) or ("",)
        return Embedding(self._tokens[len(text) % _LONGEST], self._tokens[: len(words)], words)


def _chunks(n_lines: int, seed: str) -> Iterator[list[str]]:
    """Stretches of code of `NEW_LINES` lines each, as tools print them."""
    rows = [row for file in source_files() for row in file.lines if row.strip()]
    rng = random.Random(seed)
    for _ in range(n_lines // NEW_LINES):
        start = rng.randrange(len(rows) - NEW_LINES)
        yield rows[start : start + NEW_LINES]


def _message(number: int, rows: Sequence[str], *, talk: bool) -> Message:
    text = "\n".join(rows)
    if talk:
        return Message(number, "assistant", text)
    target, args = f"lib/file_{number % 40}.py", {"offset": number}
    return Message(number, "tool", text, tool="read_file", target=target, args=args)


def _engine(name: str, size: int, embedder: Embedder | None) -> CostRow:
    """Tool output alone; with vectors every fourth message is talk, which has token vectors."""
    history = History(embedder=embedder)
    old = list(_chunks(size, "old"))
    for number, rows in enumerate(old):
        history.add(_message(number, rows, talk=embedder is not None and number % 4 == 0))
    writes, packs = [], []
    for number, rows in enumerate(_chunks(_TURNS * NEW_LINES, "new"), len(old)):
        message = _message(number, rows, talk=embedder is not None and number % 4 == 0)
        started = time.process_time()
        history.add(message)
        written = time.process_time()
        history.pack(QUESTION, BUDGET_TOKENS)
        packs.append(1000 * (time.process_time() - written))
        writes.append(1000 * (written - started))
    turn = statistics.median(a + b for a, b in zip(writes, packs, strict=True))
    return CostRow(name, size, turn, statistics.median(writes), statistics.median(packs))


def _median_turn(start: Callable[[Sequence[str]], Turn], size: int, n_turns: int) -> float:
    turn = start([row for rows in _chunks(size, "old") for row in rows])
    taken = []
    for rows in _chunks(n_turns * NEW_LINES, "new"):
        started = time.process_time()
        turn(rows)
        taken.append(1000 * (time.process_time() - started))
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
