"""What counts as a marker, what it means, and what becomes of it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.citations import best_passage, match_marker, resolve


@pytest.mark.parametrize(
    ("raw", "numbers"),
    [
        ("[1]", (1,)),
        ("[99]", (99,)),
        ("[1, 2]", (1, 2)),
        ("[1,2]", (1, 2)),
        ("[1;2]", (1, 2)),
        ("[1-3]", (1, 2, 3)),
        ("[1–3]", (1, 2, 3)),
        ("[1\u20113]", (1, 2, 3)),
        ("[1, 3-5, 3]", (1, 3, 4, 5)),
        ("[1、2]", (1, 2)),
        ("[1，2]", (1, 2)),
        ("【1】", (1,)),
        ("【1, 2】", (1, 2)),
        ("［１］", (1,)),
        ("[１２]", (12,)),
        ("【1†source】", (1,)),
        ("【2:1†L3-L9】", (2,)),
        ("[3†lines 4-9]", (3,)),
        ("[^1]", (1,)),
        ("[^1, ^2]", (1, 2)),
        ("[ 1 ]", (1,)),
        ("[source 1]", (1,)),
        ("[Source: 2]", (2,)),
        ("[Sources 1, 2]", (1, 2)),
        ("[source 1, source 3]", (1, 3)),
        ("[[1]]", (1,)),
        ("[[1, 2]]", (1, 2)),
    ],
)
def test_every_usual_form_is_a_marker(raw, numbers):
    marker = match_marker(f"ice{raw}.", 3)
    assert marker is not None
    assert (marker.numbers, marker.raw) == (numbers, raw)
    assert (marker.start, marker.end) == (3, 3 + len(raw))


@pytest.mark.parametrize(
    "text",
    [
        "[0]",
        "[01]",
        "[2024]",
        "[100]",
        "[1, 100]",
        "[0, 1]",
        "[3-1]",
        "[1990-1995]",
        "[1, 2, 3 … 10]",
        "[1 2]",
        "[]",
        "[ ]",
        "[x]",
        "[-1]",
        "[1",
        "[1\n]",
        "[1】",
        "【1]",
        "【†source】",
        "[1.5]",
        "[resource 1]",
        "1]",
        "",
    ],
)
def test_other_brackets_are_text(text):
    assert match_marker(text, 0) is None


def test_a_marker_is_found_only_where_it_begins():
    assert match_marker("a [1]", 0) is None
    assert match_marker("a [1]", 2) is not None


@pytest.mark.parametrize(
    "hostile",
    [
        "[" + "1" * 100_000,
        "[" * 100_000,
        "[" + "1," * 50_000,
        "[" + " " * 100_000 + "1]",
        "[[" + "1, " * 50_000 + "]]",
        "【1†" + "x" * 100_000,
    ],
)
def test_no_bracket_takes_long(hostile):
    began = time.perf_counter()
    assert all(match_marker(hostile, pos) is None for pos in range(0, len(hostile), 100))
    assert time.perf_counter() - began < 2


@given(st.text("[]【】†^0123456789,;-:、 source\n"), st.integers(0, 40))
def test_a_marker_is_what_it_says(text, pos):
    marker = match_marker(text, pos)
    if marker is not None:
        assert text[marker.start : marker.end] == marker.raw
        assert marker.start == pos
        assert all(1 <= number <= 99 for number in marker.numbers)
        assert len(set(marker.numbers)) == len(marker.numbers) > 0


def resolution(raw, known=(1, 2, 3), preceding="Ice floats"):
    marker = match_marker(raw, 0)
    assert marker is not None
    return resolve(marker, known, preceding)


def test_known_numbers_are_linked_wherever_they_stand():
    assert resolution("[1, 2]").numbers == (1, 2)
    assert resolution("[1]", preceding="").numbers == (1,)
    assert resolution("[1]", preceding="(").numbers == (1,)


def test_of_a_group_only_the_known_numbers_are_linked():
    found = resolution("[1, 9]")
    assert (found.numbers, found.strays, found.removed) == ((1,), (9,), False)


@pytest.mark.parametrize(
    "before",
    ["Ice floats", "Ice floats.", "floats  ", 'said "no"', "(in May)", "冰浮。", "हिन्दी", "5 €"],
)
def test_an_unknown_number_in_citation_position_is_removed(before):
    found = resolution("[9]", preceding=before)
    assert (found.numbers, found.strays, found.removed) == ((), (9,), True)


@pytest.mark.parametrize("before", ["", "   ", "(", "see: ", "“", "a = "])
def test_an_unknown_number_elsewhere_stays_as_written(before):
    found = resolution("[9]", preceding=before)
    assert (found.numbers, found.strays, found.removed) == ((), (), False)


def test_the_passage_that_covers_the_claim_best_is_found():
    passages = ["Water is wet.", "Ice floats on water, as it is less dense.", "Ice is cold."]
    assert best_passage("Ice floats on water [1].", passages) == 1
    assert best_passage("ICE", passages) == 1
    assert best_passage("水に氷は浮く", ["鉄は沈む", "氷は水に浮く"]) == 1


def test_no_passage_is_better_than_a_wrong_one():
    assert best_passage("Ice floats [1]", ["1 2 3", "quite other words"]) is None
    assert best_passage("", ["text"]) is None
    assert best_passage("text", []) is None
