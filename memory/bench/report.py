"""The results as tables for people, JSON for machines and charts for the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

from memory.bench.cost import PAGE_LINES, CostRow
from memory.bench.measure import Score, Table
from memory.bench.run import Results

_COLOURS = ("#1f6f8b", "#c2452d", "#8a8f98", "#b08a2e", "#5b7f3b", "#7a5195", "#b5b9c0", "#d98c5f")


def as_markdown(results: Results) -> str:
    parts = []
    for name, table in results.tables.items():
        for group, by_packer in table.scores.items():
            parts.append(f"### {name}: {group}\n\n{_table(table, by_packer)}")
    if results.cost:
        parts.append(f"### cost of a turn, ms\n\n{_cost_table(results.cost)}")
    if results.page_ms is not None:
        parts.append(f"Encoding a page of {PAGE_LINES} lines: {results.page_ms:.0f} ms.")
    return "\n\n".join(parts) + "\n"


def as_json(results: Results) -> str:
    tables = {name: table.as_json() for name, table in results.tables.items()}
    cost = [asdict(row) for row in results.cost]
    return json.dumps({"tables": tables, "cost": cost, "page_ms": results.page_ms}, indent=1)


def share(budget: float) -> str:
    """A budget as people write it: 1/16, or 4 %."""
    inverse = round(1 / budget)
    exact = abs(1 / budget - inverse) < 1e-9 and inverse & (inverse - 1) == 0
    return f"1/{inverse}" if exact else f"{100 * budget:g} %"


def _table(table: Table, by_packer: Mapping[str, Score]) -> str:
    n = max(score.n for score in by_packer.values())
    rows = [f"| % of {n} | {' | '.join(map(share, table.budgets))} |"]
    rows.append("| --- |" + " ---: |" * len(table.budgets))
    for packer, score in by_packer.items():
        rows.append(f"| {packer} | {' | '.join(f'{p:.1f}' for p in score.percent())} |")
    return "\n".join(rows)


def _cost_table(cost: Sequence[CostRow]) -> str:
    sizes = sorted({row.n_lines for row in cost})
    rows = [f"| | {' | '.join(f'{size:,} lines' for size in sizes)} |"]
    rows.append("| --- |" + " ---: |" * len(sizes))
    for name, by_size in _cost_lines(cost).items():
        cells = [f"{by_size[size]:.1f}" if size in by_size else "" for size in sizes]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cost_lines(cost: Sequence[CostRow]) -> dict[str, dict[int, float]]:
    lines: dict[str, dict[int, float]] = {}
    for row in cost:
        lines.setdefault(row.packer, {})[row.n_lines] = row.turn_ms
        if row.write_ms is not None and row.pack_ms is not None:
            lines.setdefault(f"{row.packer}: 80 lines in", {})[row.n_lines] = row.write_ms
            lines.setdefault(f"{row.packer}: one pack", {})[row.n_lines] = row.pack_ms
    return lines


# --- Charts --------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _LEFT, _TOP, _PLOT_WIDTH, _PLOT_HEIGHT = 760, 360, 60, 44, 440, 260


def write_charts(results: Results, folder: Path) -> list[Path]:
    """Recall by budget, and the cost by size, one SVG each."""
    charts = {}
    for name, group, title in (
        ("sessions", "facts", "Facts kept in agent sessions, %"),
        ("locomo", "any", "LoCoMo: some evidence kept, %"),
        ("locomo", "all", "LoCoMo: all evidence kept, %"),
    ):
        if name in results.tables:
            table = results.tables[name]
            lines = {p: score.percent() for p, score in table.scores[group].items()}
            charts[f"memory-{name}-{group}"] = _chart(title, list(map(share, table.budgets)), lines)
    written = []
    for name, drawing in charts.items():
        path = folder / f"{name}.svg"
        path.write_text(drawing, encoding="utf-8")
        written.append(path)
    return written


def _chart(title: str, ticks: Sequence[str], lines: Mapping[str, Sequence[float]]) -> str:
    """Lines over evenly spaced budgets, 0 to 100 %."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="{escape(title)}">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="24" font-size="15" fill="#222">{escape(title)}</text>',
        *_grid(ticks),
    ]
    for number, (name, values) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        heavy = name.startswith("product")
        points = " ".join(
            f"{_x(at, len(ticks)):.1f},{_y(value):.1f}" for at, value in enumerate(values)
        )
        width, dashes = (3, "") if heavy else (1.5, ' stroke-dasharray="5 3"')
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}"{dashes}/>'
        )
        y = _TOP + 10 + 20 * number
        parts.append(
            f'<line x1="520" x2="545" y1="{y}" y2="{y}" stroke="{colour}" '
            f'stroke-width="{width}"{dashes}/>'
            f'<text x="552" y="{y + 4}" fill="#222">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _grid(ticks: Sequence[str]) -> Iterator[str]:
    right = _LEFT + _PLOT_WIDTH
    for value in range(0, 101, 20):
        y = _y(value)
        yield f'<line x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}" stroke="#e3e5e8"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end" fill="#555">{value}</text>'
    for at, tick in enumerate(ticks):
        x, y = _x(at, len(ticks)), _TOP + _PLOT_HEIGHT + 18
        yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="#555">{escape(tick)}</text>'


def _x(at: int, n: int) -> float:
    return _LEFT + _PLOT_WIDTH * at / max(1, n - 1)


def _y(value: float) -> float:
    return _TOP + _PLOT_HEIGHT * (1 - value / 100)
