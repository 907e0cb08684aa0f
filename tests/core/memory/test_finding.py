"""Which words of a text a query finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.finding import words_found


def found(text: str, query: str) -> list[str]:
    return [text[span.start : span.end] for span in words_found(text, query)]


@pytest.mark.parametrize(
    ("text", "query", "words"),
    [
        ("The boiler code is 4711.", "boiler code", ["boiler", "code"]),
        ("He works at the works.", "working", ["works", "works"]),
        ("Ana's boat", "ana", ["Ana's"]),
        ("Café, CAFE", "cafe", ["Café", "CAFE"]),
        ("in read_file.py here", "read_file", ["read_file.py"]),
        ("Лёд плавает", "льда плавать", ["плавает"]),
        ("氷は水に浮きます", "氷水", ["氷", "水"]),
        ("氷の密度は小さい", "密度", ["密度"]),
        ("nothing here", "", []),
        ("a % b _ c", '% " *', []),
    ],
)
def test_words_are_found_by_their_terms(text: str, query: str, words: list[str]) -> None:
    assert found(text, query) == words


@given(st.text(max_size=80), st.text(max_size=20))
def test_spans_lie_apart_and_within_the_text(text: str, query: str) -> None:
    end = -1
    for span in words_found(text, query):
        assert end < span.start < span.end <= len(text)
        end = span.end


@given(st.text(alphabet="abc xyz水密度.", min_size=1, max_size=30))
def test_a_text_finds_itself_unless_it_has_no_words(text: str) -> None:
    has_words = any(char.isalnum() for char in text)
    assert bool(words_found(text, text)) == has_words
