"""What a recall from the database costs as the history grows: time, queries, bytes."""

from __future__ import annotations

import random
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import transaction
from rank_bm25 import BM25Okapi

from memory.bench.library import source_files
from memory.bench.stored import PlainMessages, counted
from memory.engine.values import Message
from memory.stored.indexing import index_path
from memory.stored.recalling import recall

SIZES = (100, 1_000, 10_000)
BUDGET_TOKENS = 2_000
QUESTIONS = {
    "with common words": "What is the default size of the buffer in the reader?",
    "rare words alone": "zebrafish plaintext",
}
_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_ROUNDS = 9
_ROWS_A_PAGE = 20


@dataclass(frozen=True, slots=True)
class RecallRow:
    """Medians in milliseconds; `cpu_ms` is this process's own time, which a busy machine changes
    least. `first_ms`: a recall that indexes the last eight messages itself."""

    n_messages: int
    n_lines: int
    question: str
    recall_ms: float
    cpu_ms: float
    n_queries: int
    n_bytes: int
    first_ms: float
    rebuilt_ms: float
    write_ms: float


def measure_recall(
    sizes: Sequence[int] = SIZES, tell: Callable[[str], None] = lambda line: None
) -> Iterator[RecallRow]:
    for size in sizes:
        tell(f"{size} messages")
        yield from _measure(size)


def _measure(size: int) -> Iterator[RecallRow]:
    reader = PlainMessages()
    owner = reader.owner()
    conversation = reader.conversation(owner)
    with transaction.atomic():
        told, head = reader.put(conversation, list(messages(size)))
    began = time.perf_counter()
    index_path(reader, owner.pk, conversation.pk, head.pk)
    write_ms = 1000 * (time.perf_counter() - began) / size
    texts = [row for message in told for row in message.text.splitlines() if row.strip()]
    rebuilt = _median(lambda: _rebuilt(texts), 3)
    for name, question in QUESTIONS.items():

        def ask(head_id: int = head.pk, question: str = question) -> object:
            return recall(reader, owner.pk, conversation.pk, head_id, question, BUDGET_TOKENS)

        ask()
        with counted() as reads:
            ask()
        taken = _median(ask, _ROUNDS)
        cpu = _median(ask, _ROUNDS, time.process_time)
        _, head = reader.put(conversation, list(messages(8, first=size)), head)
        first = _median(lambda pk=head.pk: ask(pk), 1)  # type: ignore[misc]
        yield RecallRow(
            size,
            len(texts),
            name,
            taken,
            cpu,
            reads.n_queries,
            reads.n_bytes,
            first,
            rebuilt,
            write_ms,
        )


def messages(n: int, first: int = 0) -> Iterator[Message]:
    """Turns of four: a question, two pages read, an answer. Real code and its words."""
    rows = [row for file in source_files() for row in file.lines if row.strip()]
    rng = random.Random(f"recall {first}")
    for number in range(first, first + n):
        at = _START + timedelta(minutes=number)
        start = rng.randrange(len(rows) - _ROWS_A_PAGE)
        some = rows[start : start + _ROWS_A_PAGE]
        if number % 4 in (1, 2):
            target = f"lib/file_{rng.randrange(max(40, n // 4))}.py"
            args = {"offset": start}
            text = "\n".join(some)
            yield Message(number, "tool", text, at=at, tool="read_file", target=target, args=args)
        else:
            said = "\n".join(f"About {row.strip()[:80]}." for row in some[: 1 + number % 4])
            yield Message(number, "user" if number % 4 == 0 else "assistant", said, at=at)


def _rebuilt(texts: Sequence[str]) -> object:
    corpus = [re.findall(r"\w+", text.lower()) or [""] for text in texts]
    return BM25Okapi(corpus).get_scores(QUESTIONS["with common words"].lower().split())


def _median(
    work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    taken = []
    for _ in range(rounds):
        began = clock()
        work()
        taken.append(1000 * (clock() - began))
    return statistics.median(taken)


def as_table(rows: Sequence[RecallRow]) -> str:
    """Markdown, a row for a size and a question."""
    told = [
        "| messages | lines | question | recall ms | its CPU ms | queries | bytes read"
        " | first recall ms | rank-bm25 rebuilt ms | write ms a message |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    told += [
        f"| {row.n_messages:,} | {row.n_lines:,} | {row.question} | {row.recall_ms:.1f}"
        f" | {row.cpu_ms:.1f} | {row.n_queries} | {row.n_bytes:,}"
        f" | {row.first_ms:.0f} | {row.rebuilt_ms:.0f} | {row.write_ms:.2f} |"
        for row in rows
    ]
    return "\n".join(told)
