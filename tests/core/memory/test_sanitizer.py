import gc
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.sanitizer import StoredSource, sanitize, strip_citation_markers


def marker(*titles, opener="<!--SOURCES:", closer="-->"):
    items = [{"title": title, "url": f"https://{n}.example"} for n, title in enumerate(titles, 1)]
    return opener + json.dumps(items) + closer


def titles_of(text):
    return [source.title for source in sanitize(text).sources]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Ice floats.\n\n" + marker("a"), "Ice floats."),
        ("Ice floats." + marker("A title with --> and <!--SOURCES: in it"), "Ice floats."),
        ("Ice floats.\n" + marker("a")[:35], "Ice floats."),
        ("Ice floats.\n" + marker("a")[:20], "Ice floats."),
        ("Ice floats.\n<!--SOURCES:", "Ice floats."),
        ("Ice floats.\n<!--SOURCES:[", "Ice floats."),
        ("One." + marker("a") + "Two." + marker("b"), "One.Two."),
        ('One.\n<!--SOURCES:[{"title":"a\nTwo.', "One.\n\nTwo."),
        ('One.\n<!--SOURCES:[{"title":"a"}\n\n42 is the answer.', "One.\n\n\n42 is the answer."),
        ("One." + marker("a", opener="<!--sources: ", closer=" -->"), "One."),
        ("One." + marker("a", opener="<!-- Sources :"), "One."),
        ("One.<!--SOURCES:" + marker("a") + "-->", "One."),
        ("One.<!--SOURCES:none--> Two.", "One. Two."),
        ('One.<!--SOURCES:[{"title":"say "hi" there"}]-->Two.', "One.Two."),
        (marker("a"), ""),
        ("One <!-- a remark --> two", "One <!-- a remark --> two"),
    ],
)
def test_a_storage_marker_goes_and_the_words_stay(text, clean):
    assert sanitize(text).text == clean


def test_a_title_may_hold_what_looks_like_the_end_of_the_marker():
    assert titles_of("Yes." + marker("--> <!--SOURCES:", "b")) == ["--> <!--SOURCES:", "b"]


def test_the_last_well_formed_marker_names_the_sources():
    assert titles_of("One." + marker("a") + "Two." + marker("b") + "<!--SOURCES:[{") == ["b"]


def test_sources_without_an_address_are_left_out_of_the_cards():
    text = 'x<!--SOURCES:[{"title":"a"},{"url":"https://b.example"},7]-->'
    assert sanitize(text).sources == (StoredSource("", "https://b.example"),)


@pytest.mark.parametrize(
    "explanation",
    [
        "The tag is `<!--SOURCES:` and its end is `-->`.",
        'Use `<!--SOURCES:[{"url":"https://x.example"}]-->` as it is.',
        "```html\n<!--SOURCES:[]-->\n```\nDone.",
        "~~~\n<!--SOURCES:[\n~~~\nDone.",
    ],
)
def test_an_explanation_of_the_tag_in_code_is_kept_in_full(explanation):
    cleaned = sanitize(explanation + "\n" + marker("a"))
    assert cleaned.text == explanation
    assert [source.title for source in cleaned.sources] == ["a"]


def test_a_lone_back_tick_does_not_shelter_a_marker():
    assert sanitize("Press ` once." + marker("a ` b")).text == "Press ` once."
    assert sanitize("```py\nx = 1\n" + marker("a")).text == "```py\nx = 1"


def test_an_old_source_list_at_the_end_goes_and_becomes_sources():
    cleaned = sanitize(
        "Ice floats.\n\n### Sources\n1. [On ice](https://ice.example/a_(b))\n"
        "2. Water - https://water.example\n\n"
    )
    assert cleaned.text == "Ice floats."
    assert cleaned.sources == (
        StoredSource("On ice", "https://ice.example/a_(b)"),
        StoredSource("Water", "https://water.example"),
    )
    assert [piece.kind for piece in cleaned.removed] == ["source list"]


@pytest.mark.parametrize(
    "text",
    [
        "### Sources of error\n1. [a](https://a.example)",
        "### Sources\nRivers feed it.\n\n### Use\n1. [a](https://a.example)",
        "### Sources\n1. [a](https://a.example)\n\n### Later\nMore.",
        "### Sources\n1. Rain\n2. Rivers",
        "1. [a](https://a.example)\n2. [b](https://b.example)",
    ],
)
def test_a_real_section_on_sources_is_not_touched(text):
    assert sanitize(text).text == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("<think>Hm.</think>\n\nIce floats.", "Ice floats."),
        ("One.<THINKING>a<thinking>b</thinking>c</THINKING> Two.", "One.Two."),
        ("I should look.\n</think>\n\nIce floats.", "Ice floats."),
        ("<think>Ice floats.", "Ice floats."),
        ("I should look.\n</think>\n", "I should look.\n\n"),
        (
            "Write `<think>` before and `</think>` after.",
            "Write `<think>` before and `</think>` after.",
        ),
    ],
)
def test_thoughts_go_but_a_lone_tag_never_hides_the_answer(text, clean):
    assert sanitize(text).text == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\x00b\x1b[0m\u202ec\u2066\ufeff", "ab[0mc"),
        ("pass\u200bword \U000e0041\U000e0042", "password "),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("tab\tline\n", "tab\tline\n"),
        ("می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"),
        ("👩\u200d💻 👁\ufe0f\u200d🗨", "👩\u200d💻 👁\ufe0f\u200d🗨"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",) * 2,
        ("se\u200dcret", "secret"),
        ("half \ud800 pair", "half  pair"),
    ],
)
def test_invisible_characters_go_unless_the_script_needs_them(text, clean):
    assert sanitize(text).text == clean


def test_what_is_removed_is_reported():
    stored = marker("a")
    cleaned = sanitize("a\x00\x00b<think>Hm.</think>c" + stored)
    assert [(piece.kind, piece.text) for piece in cleaned.removed] == [
        ("control", "\x00\x00"),
        ("marker", stored),
        ("thoughts", "<think>Hm.</think>"),
    ]


PIECES = [
    "<!--SOURCES:", "<!--", "SOURCES:", "-->", "[", "]", '{"url":"https://a.example"}', '"', "\\",
    "`", "```", "~~~", "\n", " ", "<think>", "</think>", "### Sources\n", "1. [a](https://a.example)\n",
    "word", "\u200d", "\u200b", "\x00", "😀", "<", "<!", "thi", "nk>", "\r", "42",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
def test_cleaning_twice_is_cleaning_once(text):
    once = sanitize(text)
    assert sanitize(once.text).text == once.text
    assert sanitize(once.text).removed == ()


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="<`#")))
def test_plain_text_is_left_alone(text):
    kept = {"\u200c", "\u200d"}
    assert sanitize(text).text == text or kept & set(text)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_no_word_is_lost_without_a_report(text):
    cleaned = sanitize(text)
    told = cleaned.text + "".join(piece.text for piece in cleaned.removed)
    assert text.count("word") <= told.count("word")


@pytest.fixture
def no_garbage_collection():
    """A collection in the middle of a measurement would measure the other tests' leftovers."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 100_000,
        "\r" * 100_000,
        "\r\n" * 50_000,
        "\x00" * 100_000,
        "<!--SOURCES:" * 10_000,
        "<!--SOURCES:[" * 10_000,
        '<!--SOURCES:["' * 10_000,
        "<!--SOURCES:[\n" * 10_000,
        "<think>" * 10_000,
        "</think>" * 10_000,
        "`" * 100_000,
        "` `` " * 20_000,
        "[" * 100_000,
        "<!--SOURCES:" + "[" * 100_000,
        '<!--SOURCES:{"a":' * 10_000,
        "### Sources\n1. [" + "](" * 40_000,
        "### Sources\n1. https://a.example\n" * 3_000,
    ],
    ids=lambda text: repr(text[:14]),
)
def test_hostile_lengths_take_linear_time(text, no_garbage_collection):
    started = time.process_time()
    sanitize(text)
    taken = time.process_time() - started
    started = time.process_time()
    sanitize(text + text)
    assert taken < 0.15
    assert time.process_time() - started < 4 * taken + 0.05


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Water floats[1][2].", "Water floats."),
        ("Water floats [1, 2].", "Water floats."),
        ("水[1、2]浮く。冰【1】浮", "水浮く。冰浮"),
        ("See it [1-3]. Ice【1†source】 floats[^1].", "See it. Ice floats."),
        ("`arr[1]` and $a[1]$ and \\(x[1]\\)", "`arr[1]` and $a[1]$ and \\(x[1]\\)"),
        ("The act [2024] of [1](https://a.example)", "The act [2024] of [1](https://a.example)"),
        ("- [ ] todo", "- [ ] todo"),
    ],
)
def test_citation_markers_go_outside_code_and_maths(text, clean):
    assert strip_citation_markers(text).text == clean
