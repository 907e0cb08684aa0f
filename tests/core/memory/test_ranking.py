import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.ranker import Ranked
from memory.engine.ranking import fuse, order


def scored(n, n_values, seed):
    """Scores with many ties, some of them 0."""
    return np.random.default_rng(seed).integers(0, n_values, n).astype(np.float32) / 7


SCORES = st.builds(
    scored, st.integers(0, 3000), st.sampled_from([1, 2, 9, 10_000]), st.integers(0, 2**32 - 1)
)


@given(SCORES)
def test_the_best_come_first_and_ties_by_position(scores):
    expected = sorted(np.flatnonzero(scores).tolist(), key=lambda at: (-scores[at], at))
    assert order(scores).tolist() == expected


@given(SCORES, st.integers(1, 400))
def test_a_limit_is_the_beginning_of_the_whole_order(scores, limit):
    assert order(scores, limit).tolist() == order(scores)[:limit].tolist()


@given(SCORES, st.integers(0, 50))
def test_pieces_are_the_order_and_what_is_in_none_is_unranked(scores, first):
    ranked = Ranked(scores, scores)
    pieces = [place for piece in ranked.in_pieces(first) for place in piece.tolist()]
    assert pieces == order(scores).tolist()
    assert sorted([*pieces, *ranked.unranked().tolist()]) == list(range(len(scores)))


def test_ranks_are_summed_and_not_scores():
    rankings = {"words": np.array([2, 0]), "meaning": np.array([0])}
    assert fuse(rankings, 3, rrf_k=10).tolist() == pytest.approx([1 / 12 + 1 / 11, 0, 1 / 11])
