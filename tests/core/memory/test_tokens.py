import inspect
import textwrap

from hypothesis import given
from hypothesis import strategies as st

from memory.engine.tokens import _long, _short, estimate_tokens


def test_nothing_costs_nothing():
    assert estimate_tokens("") == 0


@given(st.text(min_size=1))
def test_every_text_but_one_free_space_costs_something(text):
    assert estimate_tokens(text) >= (0 if text in {" ", "\t", "\r", "\f", "\v"} else 1)


@given(st.text(), st.text())
def test_joining_two_texts_hardly_changes_the_sum(one, two):
    """A piece can grow together or start anew at the seam, no more."""
    apart = estimate_tokens(one) + estimate_tokens(two)
    assert abs(estimate_tokens(one + two) - apart) <= 2


def test_english_costs_at_least_a_token_for_every_four_characters():
    text = inspect.cleandoc(textwrap.__doc__ or "") + inspect.cleandoc(
        """The quick brown fox jumps over the lazy dog, and nobody in the village could say why
        the dog had not been warned. It was, after all, the third time in a week."""
    )
    assert estimate_tokens(text) >= len(text) / 4


def test_code_costs_more_a_character_than_prose():
    code = inspect.getsource(textwrap)
    assert estimate_tokens(code) >= len(code) / 3.6


def test_scripts_without_spaces_are_counted_on_the_safe_side():
    assert estimate_tokens("水は凍ると膨張する") == 14
    assert estimate_tokens("Вода") == 4


@given(st.text("abZ09 .,(\n\t\x00\x1fé中😀\x85", min_size=1, max_size=60), st.integers(1, 40))
def test_long_texts_are_counted_as_short_ones(text, times):
    stretched = "".join(char * times for char in text)
    assert _long(text) == _short(text)
    assert _long(stretched) == _short(stretched)
