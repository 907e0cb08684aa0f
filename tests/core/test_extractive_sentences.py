"""Where sentences begin and end."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.sentences import is_heading, sentence_spans


def sentences(text: str) -> list[str]:
    return [span.of(text) for span in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith met J. R. Tolkien at 4 °C.", "Below 4.5 °C it froze!", "Really?", "Yes."],
        ["See e.g. the Nile, approx. 6,650 km long.", "Others are shorter."],
        [
            "Am 12. Juni 1817 fuhr Drais los.",
            "Es war 1817.",
            "Danach z. B. auch im 19. Jahrhundert.",
        ],
        ["El Sr. Pérez vino.", "¿Por qué?", "«No sé.»", "Dijo p. ej. que no."],
        ["Т. е. он родился в 1934 г. в деревне.", "Полёт длился 108 минут."],
        ["Elle dit : « Oui. »", "Puis M. Braille partit."],
        ['He said "Stop."', "Then he left (at last)."],
    ],
)
def test_a_full_stop_ends_a_sentence_and_not_an_abbreviation(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["富士山は高い。", "標高は3.5倍です。", "なぜですか？", "そうです！"],
        ["「すごい。」と言った。", "彼は笑った。"],
        ["水的密度。", "冰浮在水上！"],
    ],
)
def test_full_width_stops_need_no_space(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


def test_headings_list_items_and_blank_lines_end_what_came_before() -> None:
    text = "# Title\nOne line\nof prose\n- first item\n- second item\n\n## Next\n\nLast words"
    assert sentences(text) == [
        "# Title",
        "One line\nof prose",
        "- first item",
        "- second item",
        "## Next",
        "Last words",
    ]
    assert [one for one in sentences(text) if is_heading(one)] == ["# Title", "## Next"]


@given(st.text("aB .!?。」\n#-1é", max_size=200))
def test_spans_are_in_order_trimmed_and_lose_only_white_space(text: str) -> None:
    spans = sentence_spans(text)
    assert all(span.of(text) == span.of(text).strip() != "" for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    kept = "".join(span.of(text) for span in spans)
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize(
    "hostile",
    [
        "." * 100_000 + "x",
        "\n" * 100_000,
        "\n " * 50_000 + "-",
        "。" * 50_000 + "」" * 50_000,
        ".»" * 50_000 + "x",
        ". " * 20_000,
        "# a\n" * 20_000,
    ],
    ids=["stops", "newlines", "indents", "full-width", "closers", "short", "headings"],
)
def test_odd_text_costs_linear_time(hostile: str) -> None:
    began = time.perf_counter()
    sentence_spans(hostile)
    assert time.perf_counter() - began < 1.5
