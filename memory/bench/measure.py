"""Asking every probe of every packer at every budget, and counting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memory.bench.packers import Prepared
from memory.bench.probes import Probe, is_kept

FACT_KINDS = ("constant", "signature", "body", "block", "error", "failure", "user")


@dataclass(slots=True)
class Score:
    """Hits by budget, out of `n` probes."""

    hits: list[int]
    n: int = 0

    def percent(self) -> list[float]:
        return [100 * hit / self.n if self.n else 0.0 for hit in self.hits]


@dataclass(slots=True)
class Table:
    """Scores by row (a packer) and column group (a kind of probe)."""

    budgets: tuple[float, ...]
    scores: dict[str, dict[str, Score]] = field(default_factory=dict)

    def note(self, packer: str, groups: Iterable[str], hits: Sequence[bool]) -> None:
        for group in groups:
            by_packer = self.scores.setdefault(group, {})
            score = by_packer.setdefault(packer, Score([0] * len(self.budgets)))
            score.n += 1
            score.hits = [a + int(b) for a, b in zip(score.hits, hits, strict=True)]

    def as_json(self) -> dict[str, object]:
        return {
            "budgets": list(self.budgets),
            "percent": {
                group: {
                    packer: {"n": score.n, "by_budget": [round(p, 2) for p in score.percent()]}
                    for packer, score in by_packer.items()
                }
                for group, by_packer in self.scores.items()
            },
        }


def measure_facts(cases: Iterable[Prepared], budgets: Sequence[float]) -> Table:
    """Rows of text that must be there, by kind of fact and by wording."""
    table = Table(tuple(budgets))
    for case in cases:
        for probe in case.case.probes:
            for name, ask in case.ask.items():
                kept = (ask(probe.question, int(share * case.price)).text for share in budgets)
                table.note(name, _groups(probe), [is_kept(probe, text) for text in kept])
    return table


def _groups(probe: Probe) -> list[str]:
    if probe.kind in FACT_KINDS:
        return ["facts", f"facts: {probe.wording}", f"fact: {probe.kind}"]
    return [probe.kind]


def measure_evidence(cases: Iterable[Prepared], budgets: Sequence[float]) -> Table:
    """Messages that must be there whole: any of a question's evidence, and all of it."""
    table = Table(tuple(budgets))
    for case in cases:
        for probe in case.case.probes:
            for name, ask in case.ask.items():
                kept = [
                    ask(probe.question, int(share * case.price)).message_ids for share in budgets
                ]
                found = [[name in ids for name in probe.evidence] for ids in kept]
                table.note(name, ["any"], [any(hits) for hits in found])
                table.note(name, ["all", f"all: {probe.kind}"], [all(hits) for hits in found])
    return table
