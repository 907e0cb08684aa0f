"""What of a model's raw text is shown, and what is a thought, a question or a call."""

import itertools
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chat.agent.output import OutputFilter
from tests.core.output_reading import CALL, CALLED, TOOLS, Result, read, shown_before_the_end

# --- Thoughts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["think", "thinking", "reasoning", "THINK", "Reasoning"])
def test_a_block_of_thoughts_is_not_part_of_the_answer(name: str):
    result = read(f"<{name}>Is it lighter?</{name}>\n\nIce floats.")
    assert (result.visible, result.thoughts) == ("Ice floats.", "Is it lighter?")


def test_thoughts_between_two_parts_of_an_answer_leave_both():
    assert read("One.\n<think>hm</think>Two.").visible == "One.\nTwo."


def test_a_closing_tag_without_an_opening_one_takes_back_what_was_shown():
    result = read("Is it", " lighter?</th", "ink>\n\nIce floats.")
    assert (result.visible, result.n_retracted) == ("Ice floats.", 1)


def test_a_closing_tag_at_the_very_beginning_takes_nothing_back():
    assert read("</think>Ice floats.").n_retracted == 0


def test_taking_back_forgets_the_questions_and_calls_of_the_thoughts():
    result = read(f"<followups>\nWhy?\n</followups>\n{CALL}\n</think>Ice floats.")
    assert result == Result("Ice floats.", n_retracted=result.n_retracted)


def test_thoughts_that_mention_their_own_closing_tag_heal_at_the_real_one():
    assert read("<think>then </think> comes. </think>Ice floats.").visible == "Ice floats."


@pytest.mark.parametrize(
    ("finish", "visible"),
    [("stop", "Ice floats."), ("unknown", "Ice floats."), ("length", ""), ("tool_calls", "")],
)
def test_a_tag_never_closed_hides_all_only_if_the_thoughts_were_cut(finish, visible):
    assert shown_before_the_end("<think>Ice floats.") == ""
    assert read("<think>Ice floats.", finish=finish).visible == visible


def test_a_tag_never_closed_stays_hidden_behind_an_answer():
    assert read("Ice floats.\n<think>Did I say it all?").visible == "Ice floats.\n"


def test_a_tag_mentioned_in_a_line_does_not_hide_the_rest_of_the_answer():
    text = "The <think> tag marks thoughts."
    assert read(text).visible == text


def test_what_a_forgotten_tag_hid_is_read_like_any_text():
    result = read("<think>Ice floats.\n<followups>\nWhy?\n</followups>")
    assert (result.visible, result.questions) == ("Ice floats.\n", ("Why?",))
    assert read(f"<think>\n{CALL}").calls == CALLED


@pytest.mark.parametrize(
    "text",
    [
        "Use `<think>` and `</think>` for that.",
        "Use ``a ` <think>`` for that.",
        "```xml\n<think>\nhm\n</think>\n```\nDone.",
        "~~~\n</think>\n~~~\nDone.",
        "- a\n  ```\n  <think>\n  ```\nDone.",
        "````\n```\n</think>\n```\n````",
        "```\n<think>",
    ],
)
def test_tags_in_code_are_text(text: str):
    assert read(text).visible == text
    assert read(*text).visible == text


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("A stray ` here.\n<think>hm</think>Done.", "A stray ` here.\nDone."),
        ("```\ncode\n```\n<think>hm</think>Done.", "```\ncode\n```\nDone."),
        ("```a``` is\n<think>hm</think>Done.", "```a``` is\nDone."),
    ],
)
def test_code_that_has_ended_protects_no_tag(text: str, visible: str):
    assert read(text).visible == visible


# --- Questions ----------------------------------------------------------------------------------

TAGGED = "<followups>\nWhy is ice light?\nDoes iron float?\n</followups>"


def test_questions_are_taken_out_of_the_answer():
    result = read(f"Ice floats.\n{TAGGED}")
    assert result.visible == "Ice floats.\n"
    assert result.questions == ("Why is ice light?", "Does iron float?")


@pytest.mark.parametrize("text", [TAGGED.upper(), TAGGED.replace("followups", "FollowUps")])
def test_the_tag_counts_in_any_case_and_in_nineteen_pieces(text: str):
    cuts = [round(i * len(text) / 19) for i in range(20)]
    output, result = OutputFilter(TOOLS), Result()
    for start, end in itertools.pairwise(cuts):
        result.take(output.feed(text[start:end]))
        assert result.visible == ""
    result.take(output.close("stop"))
    assert [question.lower() for question in result.questions] == [
        "why is ice light?",
        "does iron float?",
    ]


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        (f"Ice.\n```\n{TAGGED}\n```", "Ice.\n"),
        (f"Ice.\n~~~text\n\n{TAGGED}\n\n~~~\nDone.", "Ice.\n\nDone."),
        (f"Ice.\n```\n{TAGGED}", "Ice.\n"),
        (f"```\n{TAGGED}\nx = 1\n```", "```\n\nx = 1\n```"),
        (f"```\nx = 1\n{TAGGED}\n```", "```\nx = 1\n\n```"),
        (f"Say `{TAGGED}`", "Say ``"),
    ],
)
def test_the_tag_is_taken_in_code_too_and_leaves_no_empty_fence(text: str, visible: str):
    result = read(text)
    assert (result.visible.replace("\n\n", "\n"), len(result.questions)) == (
        visible.replace("\n\n", "\n"),
        2,
    )


@pytest.mark.parametrize(
    "text", ["<followups>\nWhy?", "```\n<followups>\nWhy?\n```", "<followups>"]
)
def test_without_its_end_the_tag_is_hidden_and_has_no_questions(text: str):
    assert read(f"Ice floats.\n{text}") == Result("Ice floats.\n")


def test_an_answer_cut_within_the_tag_does_not_show_its_beginning():
    assert read("Ice floats.\n<followu", finish="length").visible == "Ice floats.\n"
    assert read("Ice floats.\n```\n<foll", finish="length").visible == "Ice floats.\n"


def test_a_stray_end_of_questions_is_not_shown():
    assert read("Ice floats.</followups>").visible == "Ice floats."


def test_only_true_bullets_are_stripped():
    lines = "3D printing?\n2024 election?\n• a\n- b\n* c"
    assert read(f"<followups>{lines}</followups>").questions == (
        "3D printing?",
        "2024 election?",
        "a",
        "b",
        "c",
    )
    assert read("<followups>\n1. a\n2) b\n10. c\n1.5 bar?\n</followups>").questions == (
        "a",
        "b",
        "c",
        "1.5 bar?",
    )


def test_questions_are_few_short_and_different():
    body = "\n\n```\n---\n" + "a\n" * 3 + "x" * 900 + "\nb\nc\nd\ne\nf"
    questions = read(f"<followups>{body}</followups>").questions
    assert questions[0] == "a"
    assert len(questions[1]) == 200
    assert questions[2:] == ("b", "c", "d")


# --- Text ---------------------------------------------------------------------------------------


def test_control_characters_are_dropped_and_pairs_put_together():
    assert read("a\x00b\x1b[0m\r\nc\td\x7f\x85").visible == "ab[0m\nc\td"
    assert read("ice \ud83d", "\ude00!").visible == "ice 😀!"
    assert read("ice \ud83d", "x \ude00", "\ud83d").visible == "ice \ufffdx \ufffd\ufffd"


def test_the_beginning_of_a_tag_is_all_that_is_held_back():
    assert shown_before_the_end("a < b and a <") == "a < b and a "
    assert shown_before_the_end("a <thin") == "a "
    assert shown_before_the_end("a <thing") == "a <thing"
    assert shown_before_the_end("a ``` b") == "a ``` b"
    assert read("a <thin").visible == "a <thin"


PIECES = st.sampled_from(
    [
        *'<>/`~{}[]",:\\ \n\tax1-é😀\x00\ud83d',
        *("<think>", "</think>", "<THINKING>", "</reasoning>", "<thi", "nk>", "</"),
        *("<followups>", "</followups>", "<followu", "ps>", "Why?\n", "- b\n", "\n\n"),
        *("```", "```json\n", "```\n", "~~~\n", "``", "\n```\n", "`<think>`"),
        *("<tool_call>", "</tool_call>", CALL, '{"name"', '": "web_search"', '"arguments": {'),
        *(f"[{CALL}", f",{CALL}]", '{"name": "x"', "}}", CALL[:20], CALL[20:]),
    ]
)
texts = st.lists(PIECES, max_size=14).map("".join)
finishes = st.sampled_from(["stop", "length", "unknown", "tool_calls"])


@given(texts, st.sets(st.integers(1, 300), max_size=12), finishes)
def test_every_cutting_gives_the_same_result(text: str, cuts: set[int], finish):
    ends = sorted(cut for cut in cuts if cut < len(text))
    cut_up = [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    whole = read(text, finish=finish)
    for deltas in (cut_up, list(text)):
        result = read(*deltas, finish=finish)
        result.n_retracted = whole.n_retracted
        assert result == whole


untagged = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=">")


@given(st.text(untagged | st.sampled_from("\n\t<`{[~")))
def test_text_without_tags_is_shown_as_it_is(text: str):
    assert read(f"{text}.") == Result(f"{text}.")
    assert read(*text, ".") == Result(f"{text}.")


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="<`~{["), max_size=50)
)
def test_plain_text_is_never_held_back(text: str):
    output, result = OutputFilter(TOOLS), Result()
    for n, char in enumerate(text, 1):
        result.take(output.feed(char))
        assert result.visible == text[:n]


@given(texts, finishes)
def test_the_questions_tag_is_never_visible(text: str, finish):
    assume("<followu" not in text.lower().replace("<followups>", ""))
    visible = read(text, finish=finish).visible.lower()
    assert "<followups>" not in visible
    assert "</followups>" not in visible


CHEAP = ("ice floats ", "<", "`", "{", "{\n", "~", "[", "\n", "` ", "```\n", "\ud83d")
COSTLY = ("<think>", "</think>", "<followups>", "<tool_call>", f"{CALL}\n", '[{"id":"\n')


@pytest.mark.parametrize("piece", [*CHEAP, *COSTLY, '{"arguments":{"a":\n'])
def test_a_huge_text_takes_no_time(piece: str):
    began = time.process_time()
    read(piece * (100_000 // len(piece)))
    assert time.process_time() - began < 3


@pytest.mark.parametrize("piece", ["ice floats ", "<", "`", "{", '{"arguments":{"a":\n'])
def test_a_huge_text_in_single_characters_takes_little_time(piece: str):
    began = time.process_time()
    read(*(piece * (100_000 // len(piece))))
    assert time.process_time() - began < 3
