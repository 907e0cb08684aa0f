"""The bench asks through a database what it asks of the engine, and measures recall there."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memory.bench.languages import language_cases
from memory.bench.packers import prepare, price_of
from memory.bench.recall_cost import as_table, measure_recall
from memory.bench.run import Results, product
from memory.bench.sessions import session
from memory.bench.through import ThroughDatabase
from memory.management.commands import bench_memory
from tests.core.memory.test_embedders import FakeEmbedder

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("embedder", [None, FakeEmbedder()], ids=["words", "fused"])
def test_every_answer_through_the_database_is_the_engines(embedder):
    plans = product(embedder)
    for case in (language_cases(5)[0], session(7003)):
        one = prepare(case, plans, baselines=False, count=price_of)
        two = prepare(case, plans, baselines=False, count=price_of, stored=ThroughDatabase())
        assert one.n_lines == two.n_lines
        for probe in case.probes[:2]:
            for name in plans:
                kept = [prepared.ask[name](probe.question, 400) for prepared in (one, two)]
                assert kept[0] == kept[1]


def test_the_cost_of_a_recall_is_told_for_every_size():
    rows = list(measure_recall((20, 40)))
    assert [row.n_messages for row in rows] == [20, 20, 40, 40]
    assert all(row.n_queries <= 10 and row.n_bytes and row.cpu_ms for row in rows)
    assert "| 40 |" in as_table(rows)


def test_a_folder_for_charts_is_made_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_memory, "run", lambda wanted, tell: Results({}, []))
    charts = tmp_path / "new" / "charts"
    call_command("bench_memory", "--without-embedder", charts=charts, stdout=StringIO())
    assert charts.is_dir()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(bench_memory, "run", lambda wanted, tell: pytest.fail("measured first"))
    with pytest.raises(CommandError, match="no folder"):
        call_command("bench_memory", "--without-embedder", charts=tmp_path / "file" / "charts")
