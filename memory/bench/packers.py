"""One face for all that is measured: a history and a question in, what is kept out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from memory.bench.baselines import BASELINES, Baseline, Corpus, Kept, full_price
from memory.bench.probes import Case
from memory.engine.history import History
from memory.engine.packer import Packer
from memory.engine.plan import Plan
from memory.engine.ports import Embedder
from memory.engine.ranker import Ranked, rank
from memory.engine.tokens import CountTokens
from memory.engine.values import Packed, Policy

Ask = Callable[[str, int], Kept]
"""Question and budget to what is kept."""

Stored = Callable[[Case, Embedder | None, Policy, CountTokens], tuple[Ask, dict[str | int, int]]]
"""Puts a case into a database; what answers from there, and the lines of each message."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case ready to be asked by every packer. `price` is that of the whole history."""

    case: Case
    price: int
    ask: dict[str, Ask]
    n_lines: dict[str | int, int]


def price_of(text: str) -> int:
    """The bench's counter: a quarter of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode()) // 4)


def prepare(
    case: Case,
    plans: dict[str, tuple[Plan, Embedder | None, Policy]],
    *,
    baselines: bool = True,
    count: CountTokens = price_of,
    stored: Stored | None = None,
) -> Prepared:
    """Index the case for the baselines and for every plan. Histories that differ only in the plan's
    read-time constants are still built apart: what is measured is what would run. `stored` asks in
    their place, by what it has put into a database."""
    ask: dict[str, Ask] = {}
    if baselines:
        corpus = Corpus(case.messages, count)
        ask |= {name: _by_baseline(corpus, baseline) for name, baseline in BASELINES.items()}
    n_lines: dict[str | int, int] = {}
    for name, (plan, embedder, policy) in plans.items():
        if stored:
            ask[name], n_lines = stored(case, embedder, policy, count)
            continue
        history = History(case.messages, embedder=embedder, count_tokens=count, plan=plan)
        n_lines = {entry.message.id: len(entry.lines) for entry in history.entries}
        ask[name] = _by_history(history, case.now, policy)
    return Prepared(case, full_price(case.messages, count), ask, n_lines)


def _by_baseline(corpus: Corpus, baseline: Baseline) -> Ask:
    return lambda question, budget: baseline(corpus, question, budget)


def _by_history(history: History, now: datetime | None, policy: Policy) -> Ask:
    wanted = {entry.message.id: len(entry.lines) for entry in history.entries}

    last: list[tuple[str, Ranked]] = []

    def ranked(packer: Packer) -> Ranked:
        """A question is asked at every budget in turn, and ranked once."""
        if not last or last[0][0] != packer.question:
            last[:] = [(packer.question, rank(history, packer.asked))]
        return last[0][1]

    def ask(question: str, budget: int) -> Kept:
        packer = Packer(history, question, budget, now=now, policy=policy)
        packed = packer.pack(ranked(packer))
        return kept_of(packed, budget, wanted)

    return ask


def kept_of(
    packed: Packed,
    budget: int,
    n_lines: Mapping[str | int, int],
    names: Mapping[str, str | int] | None = None,
) -> Kept:
    """What a pack keeps: its text, and the messages all of whose lines are there. `names` are the
    case's own names of the messages, where they got others."""
    if packed.n_tokens > budget:
        raise AssertionError(f"{packed.n_tokens} tokens for a budget of {budget}")
    there: Counter[str | int] = Counter()
    for line in packed.lines:
        if line.message_id is not None:
            there[names[str(line.message_id)] if names else line.message_id] += 1
    whole = {name for name, n in there.items() if n >= n_lines[name]}
    return Kept("\n".join(m.content for m in packed.messages), frozenset(whole))
