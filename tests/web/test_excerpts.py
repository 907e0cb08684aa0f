"""The part of a text that a search shows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.excerpts import EXCERPT_CHARS, excerpt

FILLER = "lorem ipsum dolor sit amet " * 40


def test_a_match_far_into_the_text_is_in_the_excerpt() -> None:
    text = f"{FILLER}the boiler code is 4711 {FILLER}"
    found = excerpt(text, "boiler code")
    assert "the boiler code is 4711" in found.text
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert [piece for piece, is_match in found.pieces if is_match] == ["boiler", "code"]


def test_the_place_with_most_of_the_words_wins() -> None:
    text = f"boiler boiler boiler {FILLER} the boiler has a code {FILLER}"
    assert "the boiler has a code" in excerpt(text, "boiler code").text


def test_a_short_text_is_shown_whole() -> None:
    assert excerpt("The code is 4711.", "code").text == "The code is 4711."


def test_without_a_match_the_line_that_was_found_is_shown() -> None:
    text = f"{FILLER}she lives by the sea {FILLER}"
    assert "she lives by the sea" in excerpt(text, "Wohnort", near=len(FILLER)).text


@given(st.text(alphabet="ab cd\nx水", max_size=1_500), st.sampled_from(["a", "cd x", "水", "%"]))
def test_an_excerpt_is_a_part_of_the_text_and_not_too_long(text: str, query: str) -> None:
    found = excerpt(text, query)
    plain = "".join(piece for piece, _ in found.pieces)
    assert plain in text
    assert len(plain) <= EXCERPT_CHARS
    assert (plain == text) == (not found.cut_before and not found.cut_after)
