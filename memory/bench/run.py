"""One run of the bench: every section with the packers, budgets and cases that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memory.bench.cost import CostRow, measure_cost, measure_page
from memory.bench.follow_ups import follow_ups
from memory.bench.languages import language_cases
from memory.bench.locomo import load_locomo
from memory.bench.measure import Table, measure_evidence, measure_facts
from memory.bench.packers import Prepared, Stored, prepare
from memory.bench.probes import Case
from memory.bench.sessions import session
from memory.engine.embedders.cached import CachedEmbedder
from memory.engine.plan import Plan
from memory.engine.ports import Embedder
from memory.engine.values import Policy

REPORTED_SEED = 7
SESSION_BUDGETS = (1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9)
LOCOMO_BUDGETS = (0.04, 0.08, 0.125, 0.25, 0.5, 0.9)
LANGUAGE_BUDGETS = (1 / 16, 1 / 8, 1 / 4)
_WORDS_ALONE: dict[str, dict[str, Any]] = {
    "no neighbours": {"before": (), "after": ()},
    "no enclosing lines": {"enclosing": 0.0},
    "no headings": {"heading": 0.0},
    "no bonus for the named speaker": {"named_speaker": 0.0},
    "no bonus for what the user said": {"said": 0.0},
    "identical lines again": {"once": False},
    "no closing of old versions": {"supersede": False},
    "no dates": {"dates": False},
    "no counted lists": {"ledger": False},
    "no turn before": {"follow_up": 0.0},
    "no keywords of code": {"keyword": 0.0, "keyword_near": 0.0},
}
_WITH_MEANING: dict[str, dict[str, Any]] = {
    "no late interaction": {"late": 0},
    "late interaction on 100": {"late": 100},
    "no speaker in meaning": {"named_similar": 0.0},
    "fusion with k 60": {"rrf_k": 60},
}

Plans = dict[str, tuple[Plan, Embedder | None, Policy]]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to run. `locomo` is the file's path; `embedder` adds the fused rows."""

    seed: int = REPORTED_SEED
    n_sessions: int = 25
    locomo: Path | None = None
    embedder: Embedder | None = None
    ablations: bool = True
    cost: bool = True
    stored: Stored | None = None
    """Asks through a database; ablations are of the engine alone."""


@dataclass(frozen=True, slots=True)
class Results:
    tables: dict[str, Table]
    cost: list[CostRow]
    page_ms: float | None = None
    """What the lines of one page take to encode, where there is an encoder."""


def product(embedder: Embedder | None) -> Plans:
    """The product as it is: by words, with meaning where there is an encoder, and lean."""
    plans: Plans = {"product, words": (Plan(), None, "fill")}
    if embedder:
        plans["product, fused"] = (Plan(), embedder, "fill")
        plans["product, fused, lean"] = (Plan(), embedder, "lean")
    else:
        plans["product, words, lean"] = (Plan(), None, "lean")
    return plans


def run(wanted: Wanted, tell: Tell = lambda line: None) -> Results:
    """All sections, in a fixed order. The same seed gives the same tables; the cost varies."""
    tables: dict[str, Table] = {}
    embedder = _once(wanted.embedder) if wanted.embedder else None
    plans = product(embedder)
    sessions = [session(wanted.seed * 1000 + number) for number in range(wanted.n_sessions)]
    tell(f"{len(sessions)} sessions, {sum(len(case.probes) for case in sessions)} probes")
    tables["sessions"] = measure_facts(
        _prepared(sessions, plans, stored=wanted.stored), SESSION_BUDGETS
    )
    tell("languages and follow-ups")
    tables["languages"] = measure_facts(
        _prepared(language_cases(wanted.seed), plans, stored=wanted.stored), LANGUAGE_BUDGETS
    )
    tables["follow-ups"] = measure_facts(
        _prepared(follow_ups(wanted.seed), plans, stored=wanted.stored), LANGUAGE_BUDGETS
    )
    talks = load_locomo(wanted.locomo) if wanted.locomo else []
    if talks:
        tell(f"LoCoMo: {sum(len(case.probes) for case in talks)} questions")
        tables["locomo"] = measure_evidence(
            _prepared(talks, plans, stored=wanted.stored), LOCOMO_BUDGETS
        )
    if wanted.ablations and not wanted.stored:
        tables |= _ablations(sessions, talks, embedder, tell)
    tell("cost" if wanted.cost else "done")
    page_ms = measure_page(wanted.embedder) if wanted.cost and wanted.embedder else None
    return Results(tables, measure_cost() if wanted.cost else [], page_ms)


def _once(embedder: Embedder) -> Embedder:
    """An embedder that encodes a line once: the plans and the sessions have most of theirs in
    common. The vectors are those of the product, which keeps them with the same precision."""
    kept: dict[str, bytes] = {}
    return CachedEmbedder(
        embedder, lambda keys: {k: kept[k] for k in keys if k in kept}, kept.update
    )


def _prepared(
    cases: Sequence[Case],
    plans: Plans,
    *,
    baselines: bool = True,
    stored: Stored | None = None,
) -> Iterator[Prepared]:
    """One case at a time: an index of every case at once would fill the memory."""
    for case in cases:
        yield prepare(case, plans, baselines=baselines, stored=stored)


def _ablations(
    sessions: Sequence[Case], talks: Sequence[Case], embedder: Embedder | None, tell: Tell
) -> dict[str, Table]:
    plans = _without(_WORDS_ALONE, None)
    if embedder:
        plans |= _without(_WITH_MEANING, embedder)
    tell(f"{len(plans)} ablations")
    tables = {
        "ablations, sessions": measure_facts(
            _prepared(sessions, plans, baselines=False), (1 / 64, 1 / 16, 1 / 4)
        )
    }
    if talks:
        fewer = [replace(case, probes=case.probes[::3]) for case in talks]
        tables["ablations, locomo"] = measure_evidence(
            _prepared(fewer, plans, baselines=False), (0.04, 0.08, 0.25)
        )
    return tables


def _without(changes: dict[str, dict[str, Any]], embedder: Embedder | None) -> Plans:
    """The whole plan, and the plan with one thing changed at a time."""
    name = "product, fused" if embedder else "product, words"
    plans: Plans = {name: (Plan(), embedder, "fill")}
    for change, values in changes.items():
        plans[change] = (replace(Plan(), **values), embedder, "fill")
    return plans
