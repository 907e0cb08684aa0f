"""Which spans are summarised: all that left the window, in few spans that seldom change."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.engine.spans import cover, planned_spans, span_of
from memory.engine.values import Span

NUMBERS = st.integers(0, 100_000)
BOUNDS = st.integers(1, 12)


@given(NUMBERS, BOUNDS)
def test_spans_cover_all_that_left_without_gaps_in_a_bounded_number(n, most):
    spans = planned_spans(n, most)
    assert len(spans) <= most
    assert [0, *(span.end for span in spans)] == [*(span.start for span in spans), n]
    assert all(span.end > span.start for span in spans)


@given(st.integers(0, 5_000), BOUNDS)
def test_a_new_message_changes_only_the_newest_spans(n, most):
    before, after = planned_spans(n, most), planned_spans(n + 1, most)
    common = [one for one, other in zip(before, after, strict=False) if one == other]
    joined = after[len(common)]
    assert joined.end == n + 1
    assert all(joined.start <= span.start for span in before[len(common) :])


def test_a_message_is_read_again_only_as_often_as_the_number_doubles():
    n_read = 0
    seen: set[Span] = set()
    for n in range(1, 1025):
        new = [span for span in planned_spans(n, 11) if span not in seen]
        seen.update(new)
        n_read += sum(span.end - span.start for span in new)
    assert n_read <= 1024 * 7


def test_the_smallest_spans_are_one_where_there_would_be_too_many():
    assert planned_spans(13, 8) == [Span(0, 8), Span(8, 12), Span(12, 13)]
    assert planned_spans(13, 2) == [Span(0, 8), Span(8, 13)]
    assert planned_spans(13, 1) == [Span(0, 13)]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), max_size=30), NUMBERS)
def test_shown_summaries_lie_one_after_the_other_and_outside_of_the_window(pairs, n):
    made = [(Span(start, start + size), Span(start, start + size)) for start, size in pairs]
    shown = cover(made, n)
    assert all(one.end <= other.start for one, other in pairwise(shown))
    assert all(span.end <= n for span in shown)
    if any(span.end <= n for span, _ in made):
        assert shown


def test_a_narrower_summary_is_shown_until_the_wider_one_is_made():
    narrow = [(Span(0, 4), "a"), (Span(4, 6), "b")]
    assert cover(narrow, 8) == ["a", "b"]
    assert cover([*narrow, (Span(0, 8), "c")], 8) == ["c"]
    assert cover([*narrow, (Span(0, 8), "c")], 7) == ["a", "b"]


def test_a_summary_of_another_branch_lies_on_no_place_of_this_path():
    places = {10: 0, 11: 1, 14: 2, 15: 3}
    assert span_of((10, 15), places) == Span(0, 4)
    assert span_of((10, 13), places) is None
