"""A streamed answer: the same HTML as the whole, every character and every block sent once."""

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat.rendering import AnswerStream, Append, Block, answer_html, closed_until, segments
from chat.rendering.parser import parse
from tests.core.test_rendering_forms import CARDS

CHARS = "`~#-*1.[]()$\\|> \n\n\ra"
LINES = [
    "", "", "", " ", "text [1]", "more", "- a", "* b", "1. c", "2. d", "  inner", "   deep",
    "    code", "\tcode", "```", "```py", "````", "~~~", "```markdown", "> quote", "# head", "===",
    "---", "|a|b|", "|-|-|", "$$", "\\[", "\\]", "x^2", "2", "2.", "-", "- ```", "  ```",
    "[1]: https://x.example", "[2](https://evil.example)",
]  # fmt: skip
markdown = st.one_of(
    st.text(CHARS, max_size=60),
    st.lists(st.sampled_from(LINES), max_size=14).map("\n".join),
)


def pieces_of(text, cuts):
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def page_after(fragments):
    """What a page shows that obeys the fragments, and rejects what it cannot obey."""
    blocks, growing = [], ""
    for fragment in fragments:
        assert fragment.block == len(blocks)
        if isinstance(fragment, Append):
            assert fragment.text
            growing += fragment.text
        else:
            blocks.append(fragment.html)
            growing = ""
    return tuple(blocks), growing


@given(markdown, st.lists(st.integers(0, 200), max_size=8))
@example("1. a\n\n2", [6])
@example("- a\n\n-", [5])
@example("a\r\nb", [2])
def test_a_stream_gives_the_html_of_the_whole(text, cuts):
    stream = AnswerStream(CARDS, prefix="m1-")
    fragments = [fragment for piece in pieces_of(text, cuts) for fragment in stream.feed(piece)]
    fragments += stream.close()
    blocks, growing = page_after(fragments)
    assert "".join(blocks) == answer_html(text, CARDS, prefix="m1-")
    assert growing == ""
    sent = "".join(fragment.text for fragment in fragments if isinstance(fragment, Append))
    assert sent == text


@given(markdown)
def test_one_character_at_a_time_gives_the_same_blocks_as_all_at_once(text):
    blocks = []
    for pieces in (list(text), [text]):
        stream = AnswerStream(CARDS)
        fragments = [fragment for piece in pieces for fragment in stream.feed(piece)]
        blocks.append(page_after(fragments + stream.close())[0])
    assert blocks[0] == blocks[1]


@given(markdown, st.integers(0, 200))
def test_the_segments_of_a_beginning_are_segments_of_the_whole(text, cut):
    beginning = text[: cut % (len(text) + 1)]
    ends = {span.end for span in segments(text)}
    closed = closed_until(beginning)
    assert closed == 0 or closed in ends
    assert closed_until(text, closed) >= closed
    assert "".join(span.of(text) for span in segments(text)) == text


@given(markdown)
def test_every_cut_is_between_blocks_of_the_whole(text):
    """Segments are cut for speed alone: the parser finds the same blocks in the whole text."""
    text = text.replace("\r", "")
    starts = {0}
    for token in parse(text):
        if token.level == 0 and token.map:
            starts.add(token.map[0])
    lines = text.split("\n")
    for span in segments(text):
        first = text.count("\n", 0, span.start)
        while first < len(lines) and not lines[first].strip(" \t"):
            first += 1
        assert first in starts or first == len(lines)


@given(markdown, st.lists(st.integers(0, 200), max_size=5), st.integers(0, 5))
def test_a_page_made_in_the_middle_goes_on_like_one_that_was_there(text, cuts, joined_at):
    stream = AnswerStream(CARDS)
    fragments, snapshot, rest = [], None, []
    for number, piece in enumerate([*pieces_of(text, cuts), None]):
        if number == joined_at:
            snapshot, rest = stream.snapshot(), []
            assert (snapshot.blocks, snapshot.open_text) == page_after(fragments)
        new = stream.close() if piece is None else stream.feed(piece)
        fragments += new
        rest += new
    snapshot = snapshot or AnswerStream().snapshot()
    later = [fragment.html for fragment in rest if isinstance(fragment, Block)]
    assert "".join([*snapshot.blocks, *later]) == answer_html(text, CARDS)


def cut(text):
    return [span.of(text) for span in segments(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n\nb", ["a\n\n", "b"]),
        ("\n\na\n\n\nb\n\n", ["\n\na\n\n\n", "b\n\n"]),
        ("a\n\n- b\n\n- c\n\n  d\n\ne", ["a\n\n", "- b\n\n- c\n\n  d\n\n", "e"]),
        ("1. a\n\n2", ["1. a\n\n", "2"]),
        ("1. a\n\n2.", ["1. a\n\n2."]),
        ("```\na\n\nb\n```\n\nc", ["```\na\n\nb\n```\n\n", "c"]),
        ("````\n```\n\na\n\n````\n\nb", ["````\n```\n\na\n\n````\n\n", "b"]),
        ("~~~\n```\n\na\n```\n\nb\n~~~\nc\n\nd", ["~~~\n```\n\na\n```\n\nb\n~~~\nc\n\n", "d"]),
        ("- ```\n  a\n\n  b\n  ```\n\nc", ["- ```\n  a\n\n  b\n  ```\n\n", "c"]),
        ("    a\n\n    b\n\nc", ["    a\n\n    b\n\n", "c"]),
        ("a\n\n===\n\nb", ["a\n\n", "===\n\n", "b"]),
        ("> a\n\n> b", ["> a\n\n", "> b"]),
        (
            "$$\n- a\n$$\n  ```\n x\n\ny\n  ```\n\nz",
            ["$$\n- a\n$$\n  ```\n x\n\ny\n  ```\n\n", "z"],
        ),
        (
            "```md\n```py\na\n\nb\n```\n\nc\n```\n\nd",
            ["```md\n```py\na\n\nb\n```\n\nc\n```\n\n", "d"],
        ),
    ],
)
def test_segments_end_where_blocks_do(text, expected):
    assert cut(text) == expected


def test_a_paragraph_appears_as_it_is_written():
    stream = AnswerStream(CARDS)
    assert stream.feed("Ice\n\nWa") == [
        Append(0, "Ice\n\n"),
        Block(0, "<p>Ice</p>\n"),
        Append(1, "Wa"),
    ]
    assert stream.feed("ter") == [Append(1, "ter")]
    assert stream.feed("") == []
    assert stream.close() == [Block(1, "<p>Water</p>\n")]


def test_after_a_list_a_number_waits_until_it_is_known_what_it_is():
    stream = AnswerStream(CARDS)
    stream.feed("1. a\n\n")
    assert stream.feed("2") == []
    assert stream.feed(".") == []
    assert stream.feed(" b") == [Append(0, "2. b")]


def test_an_empty_stream_has_nothing_to_say():
    stream = AnswerStream()
    assert stream.feed("") == []
    assert stream.close() == []


PARAGRAPHS = "Ice floats on water as it is less dense [1].\n\n" * 450
LOOSE_LIST = "- Ice floats on water [1].\n\n" * 750
BUSY_FENCE = "```py\n" + "x = arr[1]\n\ny = 2\n" * 1_100
FENCES = "```py\na\n\nb\n```\n" * 1_100
ONE_LINE = "Ice floats [1] and " * 1_050
MIXED_FENCES = "~~~\n" + "```\n\nx\n" * 2_000


@pytest.mark.parametrize(
    "text",
    [PARAGRAPHS, LOOSE_LIST, BUSY_FENCE, FENCES, ONE_LINE, MIXED_FENCES],
    ids=["paragraphs", "list", "fence", "fences", "line", "mixed"],
)
def test_a_long_answer_streams_in_time_near_its_length(text):
    began = time.process_time()
    stream = AnswerStream(CARDS)
    for start in range(0, len(text), 4):
        stream.feed(text[start : start + 4])
    stream.close()
    assert time.process_time() - began < 5
