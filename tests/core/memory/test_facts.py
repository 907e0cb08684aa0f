from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.facts import Facts, read_statement
from tests.core.memory.builders import START, filler, said, shown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("My favourite player is Ronaldo.", ("favourite player", "Ronaldo")),
        ("Call me Kasper.", ("call", "Kasper")),
        ("We moved to Porto.", ("live in", "Porto")),
        ("My sister said that her dog is ill, and I think she is right about it.", None),
        ("The weather is fine.", None),
    ],
)
def test_a_plain_statement_in_the_first_person_is_read(text, told):
    assert read_statement(text) == told


def test_a_correction_closes_what_was_said_before():
    history = [said("My favourite player is Ronaldo."), *filler(20),
               said("My favourite player is Messi.")]  # fmt: skip
    text = shown(history, "Who is my favourite player?", 2000)
    assert "Messi" in text
    assert "Ronaldo" not in text


def test_what_was_said_before_is_there_when_asked_for():
    history = [said("My editor is Vim."), *filler(20), said("My editor is Helix.")]
    text = shown(history, "What was my editor before?", 2000)
    assert text.index("Vim. (no longer so)") < text.index("Helix")


def test_saying_the_same_again_closes_nothing():
    history = [said("My editor is Vim."), *filler(5), said("My editor is VIM!")]
    assert "My editor is Vim." in shown(history, "my editor", 2000)


def test_deleting_a_correction_brings_back_what_it_corrected():
    from memory.engine import History

    old, new = said("My editor is Vim."), said("My editor is Helix.")
    history = History([old, new])
    history.remove(new.id)
    assert "Vim" in shown(history, "What is my editor?", 500)


STATEMENTS = st.lists(
    st.tuples(st.sampled_from(["ana", "ben"]), st.sampled_from(["editor", "dog"]),
              st.sampled_from(["one", "two", "three"])), max_size=20)  # fmt: skip


@given(STATEMENTS, st.integers(-1, 25))
def test_at_any_time_there_is_at_most_one_value(told, day):
    facts = Facts()
    for number, (subject, attribute, value) in enumerate(told):
        at = START + timedelta(days=number)
        facts.note(subject, f"My {attribute} is {value}.", number, at)
    held = facts.as_of(START + timedelta(days=day))
    assert len({(fact.subject, fact.attribute) for fact in held}) == len(held)
    expected = {(s, a): v for s, a, v in told[: day + 1]} if day >= 0 else {}
    assert {(f.subject, f.attribute): f.value for f in held} == expected
