"""What is read of the memory files at the start: which files, and which lines when it is tight."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.files import parse
from memory.engine.opening import StoredFile, always_read, matches, matching_skills, opened
from memory.engine.terms import exact_terms

NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)


def stored(path: str, text: str, *, days: int = 0, ages: tuple[int, ...] = ()) -> StoredFile:
    return StoredFile(path, text, NOON + timedelta(days=days), ages)


def count(text: str) -> int:
    return -(-len(text) // 4)


def asks(question: str) -> set[str]:
    return set(exact_terms(question))


@pytest.mark.parametrize(
    ("trigger", "question", "fits"),
    [
        ("plan, build", "Please build me a shed", True),
        ("plan, build", "Planning a trip", True),
        ("plan, build", "What is a plant?", False),
        ("review code", "review this", False),
        ("review code", "can you review the code?", True),
        ('User asks to "implement" or "create"', "create a page", True),
        ('User asks to "implement" or "create"', "the user asks", False),
        ("planificar, presupuesto", "¿me haces un presupuesto?", True),
        ("", "anything", False),
        (" , ", "anything", False),
    ],
)
def test_a_skill_applies_when_one_of_its_phrases_was_said(
    trigger: str, question: str, fits: bool
) -> None:
    assert matches(parse(f"---\ntrigger: {trigger}\n---\n"), asks(question)) is fits


def test_core_files_come_first_and_skills_pinned_first_then_newest() -> None:
    files = [
        stored("knowledge/user.md", "- Name: Ana\n"),
        stored("skills/old.md", "---\ntrigger: boat\n---\nOld\n", days=1),
        stored("skills/new.md", "---\ntrigger: boat\n---\nNew\n", days=2),
        stored("skills/pinned.md", "---\ntrigger: boat\npinned: true\n---\nPinned\n"),
        stored("skills/other.md", "---\ntrigger: house\n---\nOther\n"),
        stored("AGENTS.md", "- Short answers\n"),
    ]
    assert [file.path for file in always_read(files)] == ["AGENTS.md", "knowledge/user.md"]
    assert [file.path for file in matching_skills(files, "My boat leaks")] == [
        "skills/pinned.md",
        "skills/new.md",
        "skills/old.md",
    ]


def test_a_long_file_keeps_pinned_and_newest_lines_and_says_what_it_left_out() -> None:
    lines = [f"- Fact number {n}" for n in range(1, 401)]
    lines[4] = "- Allergic to nuts 📌"
    ages = [1] * 401
    ages[199] = 7
    file = stored("knowledge/user.md", "\n".join(lines) + "\n", ages=tuple(ages))
    (shown,) = opened([file], 200, count)
    assert count(shown.text) <= 200
    assert "Allergic to nuts" in shown.text
    assert "- Fact number 200\n" in shown.text
    assert "- Fact number 400" in shown.text
    assert "- Fact number 10\n" not in shown.text
    kept = [line for line in shown.text.split("\n") if line.startswith("- ")]
    assert kept == [line for line in lines if line in kept]
    assert len(kept) + shown.n_left_out == 400
    assert "[4 lines left out here]" in shown.text


def test_a_long_file_is_cut_before_a_short_one() -> None:
    long = stored("AGENTS.md", "\n".join(f"- Rule {n}" for n in range(500)))
    short = stored("knowledge/user.md", "- Name: Ana\n")
    shown = {one.path: one for one in opened([long, short], 100, count)}
    assert shown["knowledge/user.md"].text == "- Name: Ana"
    assert shown["AGENTS.md"].n_left_out > 0


@given(
    st.lists(st.lists(st.text("ab📌 ", max_size=12), max_size=12), max_size=4),
    st.integers(0, 60),
)
def test_what_is_read_never_exceeds_the_budget(bodies: list[list[str]], budget: int) -> None:
    files = [
        stored(f"skills/{i}.md", "\n".join(lines), ages=tuple(range(len(lines))))
        for i, lines in enumerate(bodies)
    ]
    shown = opened(files, budget, count)
    assert sum(count(one.text) for one in shown) <= budget
    whole = {file.path: file for file in files}
    for one in shown:
        n_lines = sum(bool(line.strip()) for line in whole[one.path].text.split("\n"))
        n_shown = sum(
            bool(line.strip()) and "left out here" not in line for line in one.text.split("\n")
        )
        assert n_shown + one.n_left_out == n_lines
