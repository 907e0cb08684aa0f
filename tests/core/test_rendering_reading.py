"""Reading citations out of an answer, and cleaning an answer for a model's history."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat.agent.citations import match_marker
from chat.agent.values import Span
from chat.rendering import answer_html, read_citations, strip_markers
from chat.rendering.sentences import sentences
from tests.core.test_rendering_forms import CARDS, NUMBERED

TOKENS = [
    "[1]", "[2, 9]", "[9]", "【3†x】", "[^1]", "[[2]]", "[2024]", "Ice", " floats", ".", "。", " ",
    "\n", "\n\n", "> ", "- ", "1. ", "# ", "**", "`", "```\n", "    ", "\t", "$", "\\", "|",
    "|-|-|\n", "\n|a|b|\n|-|-|\n|", "\\|", "[x](https://evil.example)", "](https://evil.example)",
    "[", "]", "[1](https://evil.example)", "![a [1]](x)", "<https://www.asahi.co.jp/water>",
    "\r\n", "\0",
    "[Ice](https://en.wikipedia.org/wiki/Ice)", "\n[1]: https://x.example\n", "\f", "[ ] ", "---",
    "https://x.example/a[1].html", "\n\n- [ ] todo ", "~~~\n", "\u00a0",
]  # fmt: skip
answers = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=14).map("".join),
    st.text("[]()1 92.!`$\\|>-*\n\t^a<:/", max_size=50),
)


def claims(text):
    reading = read_citations(text, CARDS)
    return [(found.number, found.claim.of(text)) for found in reading.citations]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ice floats [1]. It is cold [2].", [(1, "Ice floats [1]."), (2, "It is cold [2].")]),
        ("Ice floats.[1] It is cold.[2]", [(1, "Ice floats.[1]"), (2, "It is cold.[2]")]),
        ("Ice floats. [1] It is cold. [2]", [(1, "Ice floats. [1]"), (2, "It is cold. [2]")]),
        ("Ice floats. [1] [2]\nCold!", [(1, "Ice floats. [1] [2]"), (2, "Ice floats. [1] [2]")]),
        ("Ice [1] floats [2]. Yes.", [(1, "Ice [1] floats [2]."), (2, "Ice [1] floats [2].")]),
        ("Yes. Ice floats [1, 2]", [(1, "Ice floats [1, 2]"), (2, "Ice floats [1, 2]")]),
        ("氷は浮く。[1]鉄は沈む【2】。", [(1, "氷は浮く。[1]"), (2, "鉄は沈む【2】。")]),
        ("At 0.9 g, e.g. ice by Dr. J. Smith, it floats [1].",
         [(1, "At 0.9 g, e.g. ice by Dr. J. Smith, it floats [1].")]),
        ("# Ice\n\n- floats [1]\n- sinks. Rarely [2]", [(1, "floats [1]"), (2, "Rarely [2]")]),
        ("> Ice\n> floats [1].\n> Yes.", [(1, "Ice\n> floats [1].")]),
        ("|a|b|\n|-|-|\n|[1]|x \\| y [1]|", [(1, "[1]"), (1, "x \\| y [1]")]),
        ("**Ice floats.** [1] *Yes.*", [(1, "**Ice floats.** [1]")]),
        ("[Ice](https://en.wikipedia.org/wiki/Ice) floats. Yes.",
         [(1, "[Ice](https://en.wikipedia.org/wiki/Ice) floats.")]),
        ("A.\r\n\r\nIce\r\nfloats [1].", [(1, "Ice\r\nfloats [1].")]),
        ("1. 1\n   is odd [1]", [(1, "1\n   is odd [1]")]),
        ("« L'eau monte. » [1] Oui.", [(1, "« L'eau monte. » [1]")]),
        ("« L'eau monte.\u00a0» [1] Oui.", [(1, "« L'eau monte.\u00a0» [1]")]),
        ("`[1]` $a[1]$ \\[1\\] [2024]", []),
    ],
)  # fmt: skip
def test_a_citation_names_the_sentence_it_closes(text, expected):
    assert claims(text) == expected


def test_markers_and_strays_have_their_places():
    text = "- Ice [1, 9] floats [8].\n- [7] says"
    reading = read_citations(text, CARDS)
    assert [(found.number, found.marker.of(text)) for found in reading.citations] == [(1, "[1, 9]")]
    assert [(stray.numbers, stray.marker.of(text)) for stray in reading.strays] == [
        ((9,), "[1, 9]"),
        ((8,), "[8]"),
    ]


def test_a_link_to_a_source_is_a_citation_with_its_place():
    text = "Ice [floats](https://en.wikipedia.org/wiki/Ice) and [2](https://evil.example) x"
    found = [(c.number, c.marker.of(text)) for c in read_citations(text, CARDS).citations]
    assert found == [
        (1, "[floats](https://en.wikipedia.org/wiki/Ice)"),
        (2, "[2](https://evil.example)"),
    ]


def test_without_sources_every_marker_is_a_stray():
    reading = read_citations("Ice floats [1][2].", [])
    assert reading.citations == ()
    assert [stray.numbers for stray in reading.strays] == [(1,), (2,)]


@pytest.mark.parametrize(("text", "expected"), NUMBERED)
def test_the_citations_that_are_read_are_those_that_are_shown(text, expected):
    read = [citation.number for citation in read_citations(text, CARDS).citations]
    assert read == [int(number) for number in re.findall(r"\{(\d)\}", expected)]


@given(answers)
@example("\f\n[1]")
@example("a\0[1]")
@example("- > # x [1] #")
@example("|a|b|\n|-|-|\n| [1] \\| [1] | [1] |")
def test_what_is_read_is_what_is_shown_and_where_it_stands(text):
    reading = read_citations(text, CARDS)
    badges = re.findall(r'data-source="(\d+)"', answer_html(text, CARDS))
    assert [str(found.number) for found in reading.citations] == badges
    for found in reading.citations:
        raw = found.marker.of(text)
        marker = match_marker(raw, 0)
        assert (marker and found.number in marker.numbers) or raw[0] in "[!<"
        assert raw[-1] in "]】)>"
        assert found.claim.start <= found.marker.start < found.marker.end <= found.claim.end
    for stray in reading.strays:
        marker = match_marker(stray.marker.of(text), 0)
        assert marker
        assert set(stray.numbers) <= set(marker.numbers)


@given(st.text('Ab.!。 \n"*1', max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_sentences_are_in_order_and_lose_nothing_but_space(text, places):
    marks = [(place, place + 1) for place in places if place < len(text)]
    found = sentences(text, marks)
    gaps, end = [], 0
    for start, stop in found:
        assert end <= start < stop
        gaps.append(text[end:start])
        end = stop
    outside = "".join([*gaps, text[end:]])
    assert not outside.strip()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Water floats [1][2].", "Water floats."),
        ("Ice floats [9]. Cold [1, 2] ice【1†source】!", "Ice floats. Cold ice!"),
        ("The act [2024] and [0]", "The act [2024] and [0]"),
        ("[1] Ice floats", "Ice floats"),
        ("- [1] [2] Ice\n- floats [1]", "- Ice\n- floats"),
        ("[1, 2, 3]", ""),
        ("Use `arr[1]`, $a[1]$, \\[1\\] [1].", "Use `arr[1]`, $a[1]$, \\[1\\]."),
        ("```py\nx = arr[1]\n```\n\nDone [1].", "```py\nx = arr[1]\n```\n\nDone."),
        ("~~~\n[1]\n\n[2]\n~~~", "~~~\n[1]\n\n[2]\n~~~"),
        ("    x[1]\n\nDone [1]", "    x[1]\n\nDone"),
        ("Ice.\n\n[1]: https://x.example\n[^2]: Ice https://x.example", "Ice."),
        ("See [ice](https://x.example) ![p](https://x.example/p.png)", "See ice p"),
        ("[1](https://x.example) floats, see [2](https://x.example).", "floats, see."),
        ("<https://x.example/a[1]> https://x.example/a[1].html", "<https://x.example/a[1]> https://x.example/a[1].html"),
        ("|a|b|\n|-|-|\n| x[1] | y \\| [2] |", "|a|b|\n|-|-|\n| x | y \\| |"),
        ("> Ice\n> floats [1].", "> Ice\n> floats."),
        ("- [x] done [1]\n- [ ] todo", "- [x] done\n- [ ] todo"),
        ("no brackets\n\n", "no brackets\n\n"),
    ],
)  # fmt: skip
def test_history_is_language(text, language):
    assert strip_markers(text) == language


@given(answers)
@example("[1[2]]")
@example("`a`[1]`b`")
def test_stripping_twice_changes_nothing_more(text):
    once = strip_markers(text)
    assert strip_markers(once) == once


@given(answers)
def test_nothing_that_would_be_a_marker_is_left(text):
    left = strip_markers(text)
    reading = read_citations(left, CARDS)
    assert reading.strays == ()
    assert all(found.marker.of(left).startswith("<http") for found in reading.citations)


@given(st.lists(st.sampled_from(["x = a[1]", "", "- [1]", "[1]: https://x.example", "  y"])))
def test_code_is_kept_byte_for_byte(lines):
    block = "```py\n" + "".join(f"{line}\n" for line in lines) + "```"
    assert strip_markers(f"Ice [1].\n\n{block}\n\nIce [2].") == f"Ice.\n\n{block}\n\nIce."


def test_a_span_of_a_long_answer_is_found_in_time_near_its_length():
    text = "".join(f"Ice {number} floats on water [1], cold [9].\n\n" for number in range(500))
    text += " ".join(f"Ice {number} floats [1]." for number in range(500))
    began = time.process_time()
    assert len(read_citations(text, CARDS).citations) == 1_000
    assert "[" not in strip_markers(text)
    assert time.process_time() - began < 5


def test_spans_are_half_open():
    assert read_citations("[1]", CARDS).citations[0].marker == Span(0, 3)
