"""What a question wants counted: which words ask for a list, and which only sound like it."""

from __future__ import annotations

import pytest

from memory.engine.calls import Call
from memory.engine.ledger import Ledger


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    for kind in ("read", "change", "run", "search"):
        ledger.note(Call(kind, kind, "a", None, None, (), (), "a"), ok=True)
    ledger.note(Call("run", "run", "b", None, None, (), (), "b"), ok=False)
    return ledger


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("How many searches did you run?", "searches"),
        ("Name all the queries so far.", "searches"),
        ("What did you search for?", "searches"),
        ("What have you looked up?", "searches"),
        ("¿Qué búsquedas hiciste?", "searches"),
        ("Which files did you change?", "changes"),
        ("List every file that was edited.", "changes"),
        ("What files have been modified, and which were written anew?", "changes"),
        ("Welche Dateien wurden geändert?", "changes"),
        ("Which files did you read?", "reads"),
        ("List all files read.", "reads"),
        ("Which pages have you already opened?", "reads"),
        ("Which sources did you use?", "reads"),
        ("Which commands were run?", "runs"),
        ("How often did you run the tests?", "runs"),
        ("How many calls failed?", "failures"),
        ("Which errors were there?", "failures"),
    ],
)
def test_a_question_after_a_list(ledger, question, topic):
    assert topic in ledger.topics(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the default size of the buffer in the reader?",
        "How many rows has our test data set?",
        "Which editor does the latest release open by default?",
        "What does the search function return?",
        "What is the update interval?",
        "How much credit is left?",
        "Which view handles the query string?",
        "What error does the parser raise?",
        "How often is the review page's cache read ahead?",
    ],
)
def test_a_question_that_only_sounds_like_it(ledger, question):
    assert ledger.topics(question) == []
