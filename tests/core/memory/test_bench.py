"""The bench on a small set: the product is never below doing nothing, at any budget."""

import pytest

from memory.bench.baselines import BASELINES
from memory.bench.cost import RandomVectors, measure_cost, measure_page
from memory.bench.follow_ups import follow_ups
from memory.bench.languages import language_cases
from memory.bench.measure import FACT_KINDS, measure_facts
from memory.bench.packers import prepare
from memory.bench.report import as_json, as_markdown, share, write_charts
from memory.bench.run import Results, product
from memory.bench.sessions import session
from memory.engine.plan import Plan

BUDGETS = (1 / 64, 1 / 16, 0.5)
SEED = 5000
PRODUCT = "product, words"


@pytest.fixture(scope="module")
def sessions():
    return measure_facts(
        [prepare(session(SEED + n), {PRODUCT: (Plan(), None, "fill")}) for n in range(2)], BUDGETS
    )


def test_the_same_seed_gives_the_same_session():
    assert session(SEED) == session(SEED)
    assert session(SEED) != session(SEED + 1)


def test_sessions_are_of_the_size_and_the_mix_that_is_described():
    case = session(SEED)
    n_lines = sum(message.text.count("\n") + 1 for message in case.messages)
    assert 2000 < n_lines < 4500
    facts = [probe for probe in case.probes if probe.kind in FACT_KINDS]
    assert 5 <= len(facts) <= 7
    assert {"date", "searches"} <= {probe.kind for probe in case.probes}


@pytest.mark.parametrize("baseline", BASELINES)
def test_facts_are_never_kept_worse_than_by_doing_nothing(sessions, baseline):
    facts = sessions.scores["facts"]
    for own, other in zip(facts[PRODUCT].hits, facts[baseline].hits, strict=True):
        assert own >= other


def test_more_budget_keeps_no_fewer_facts():
    budgets = tuple(percent / 100 for percent in range(4, 101, 8))
    case = prepare(session(SEED + 2), product(None), baselines=False)
    facts = measure_facts([case], budgets).scores["facts"][PRODUCT].hits
    assert facts == sorted(facts)
    assert facts[-1] > facts[0]


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("kind", ["current", "previous", "changed", "untouched"])
def test_edits_are_never_told_worse_than_by_doing_nothing(sessions, kind, baseline):
    told = sessions.scores[kind]
    for own, other in zip(told[PRODUCT].hits, told[baseline].hits, strict=True):
        assert own >= other


@pytest.mark.parametrize("kind", ["current", "previous", "changed", "untouched", "date", "files",
                                  "searches"])  # fmt: skip
def test_what_needs_bookkeeping_is_right_from_a_sixteenth_on(sessions, kind):
    score = sessions.scores[kind][PRODUCT]
    assert score.hits[1:] == [score.n] * (len(BUDGETS) - 1)


def test_facts_are_kept_in_nine_languages():
    table = measure_facts(
        [prepare(case, product(None), baselines=False) for case in language_cases(SEED)], (1 / 8,)
    )
    assert len(table.scores) == 9
    for language, by_packer in table.scores.items():
        assert by_packer[PRODUCT].percent()[0] >= 90, language


def test_questions_that_point_back_are_answered():
    cases = follow_ups(SEED, n_cases=10)
    table = measure_facts([prepare(c, product(None), baselines=False) for c in cases], (1 / 16,))
    assert table.scores["follow-up"][PRODUCT].percent()[0] >= 90


def test_the_results_are_told_to_people_and_machines(sessions, tmp_path):
    page_ms = measure_page(RandomVectors())
    results = Results({"sessions": sessions}, measure_cost((160,)), page_ms)
    assert f"| {PRODUCT} |" in as_markdown(results)
    assert '"facts"' in as_json(results)
    assert "with vectors: one pack" in as_markdown(results)
    assert "a page of 300 lines" in as_markdown(results)
    chart = write_charts(results, tmp_path)[0].read_text()
    assert chart.startswith("<svg")
    assert PRODUCT in chart


@pytest.mark.parametrize(("budget", "told"), [(1 / 16, "1/16"), (0.5, "1/2"), (0.9, "90 %")])
def test_a_budget_is_told_as_a_share(budget, told):
    assert share(budget) == told
