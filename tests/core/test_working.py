"""Working memory: five fields, one sentence each where a sentence is asked, emptied by the next."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.sentences import sentence_spans
from chat.agent.values import Source, Span
from chat.agent.working import WorkingMemory, found_for, one_sentence, working_memory
from memory.service import without_secrets
from tests.core.fakes import NOON

TEXT = "Ice floats.\n\nWater is densest at 4 °C.\n\nNobody was shown this."
SHOWN = (Span(0, 11), Span(13, 38))


def source(number: int = 1, text: str = TEXT, passages: tuple[Span, ...] = SHOWN) -> Source:
    return Source(
        number=number,
        title=f"Page {number}",
        url=f"https://example.org/{number}",
        domain="example.org",
        text=text,
        read_at=NOON,
        provider="Fake",
        passages=passages,
    )


def memory(question: str = "Why does ice float?", draft: str = "") -> WorkingMemory:
    return working_memory(question, [source()], draft, screen=without_secrets)


def test_it_has_exactly_five_fields() -> None:
    names = ["job", "chunks", "draft", "fail_count", "last_error"]
    assert [field.name for field in fields(WorkingMemory)] == names
    assert list(memory().fields()) == names


def test_it_begins_without_a_failure() -> None:
    assert (memory().fail_count, memory().last_error) == (0, "")


def test_chunks_are_the_passages_that_were_shown_and_no_more() -> None:
    assert memory().fields()["chunks"] == [
        {"title": "Page 1", "text": "Ice floats."},
        {"title": "Page 1", "text": "Water is densest at 4 °C."},
    ]


def test_a_failure_counts_and_leaves_one_sentence() -> None:
    failed = memory().failed("It is wrong. This is an essay about\nwhy that is so.")
    assert (failed.fail_count, failed.last_error) == (1, "It is wrong.")
    again = failed.failed("Still wrong.")
    assert (again.fail_count, again.last_error) == (2, "Still wrong.")


def test_the_next_question_begins_anew() -> None:
    """There is nothing to reset: what failed twice for one question is unknown to the next."""
    first = memory("Why does ice float?", "Ice sinks [1].").failed("No.").failed("No.")
    second = working_memory("How old is Rome?", [], "", screen=without_secrets)
    assert first.fail_count == 2
    assert second == WorkingMemory(job="How old is Rome?")


@pytest.mark.parametrize(
    ("question", "job"),
    [
        ("Why does ice float?", "Why does ice float?"),
        ("I read a book. Why does ice float? Thanks.", "Why does ice float?"),
        ("Tell me about ice. Be brief.", "Tell me about ice."),
        ("氷について読んだ。なぜ氷は浮くのか？", "なぜ氷は浮くのか？"),
        ("  \n ", ""),
    ],
)
def test_the_job_is_the_sentence_that_asks(question: str, job: str) -> None:
    assert memory(question).job == job


@given(text=st.text("ab. \n?!。", max_size=400))
def test_one_sentence_is_at_most_one_line_and_not_long(text: str) -> None:
    sentence = one_sentence(text, max_chars=80)
    assert "\n" not in sentence
    assert len(sentence) <= 80
    assert len(sentence_spans(sentence)) <= 1


def test_what_an_earlier_question_found_is_no_chunk_unless_it_is_cited() -> None:
    old, new = replace(source(1), recalled=True), source(2)
    assert found_for([old, new], cited=set()) == [new]
    assert found_for([old, new], cited={1}) == [old, new]


KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.mark.parametrize("secret", ["my password is hunter2", f"The key is {KEY}."])
def test_no_secret_gets_into_any_field(secret: str) -> None:
    """The lines that hold one are left out, whoever wrote them."""
    text = f"A page.\n{secret}"
    whole = working_memory(
        f"{secret}\nWhy does ice float?",
        [source(text=text, passages=(Span(0, len(text)),))],
        f"Ice floats [1].\n{secret}",
        screen=without_secrets,
    )
    printed = str(whole.failed(without_secrets(secret)).fields())
    assert "hunter2" not in printed
    assert KEY not in printed
    assert whole.job == "Why does ice float?"
    assert whole.chunks[0].text == "A page."
