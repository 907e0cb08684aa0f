import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.index import K1, B, LineIndex

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
HISTORY = st.lists(WORDS, min_size=1, max_size=30)


def naive_bm25(lines, question):
    """The formula of the glossary, term by term, with nothing precomputed."""
    average = sum(map(len, lines)) / len(lines) or 1.0
    scores = []
    for line in lines:
        score = 0.0
        for term in question:
            tf = line.count(term)
            df = sum(term in other for other in lines)
            idf = math.log(1 + (len(lines) - df + 0.5) / (df + 0.5))
            score += idf * tf / (tf + K1 * (1 - B + B * len(line) / average)) if tf else 0.0
        scores.append(score)
    return scores


def built(lines):
    index = LineIndex()
    for line in lines:
        index.add(line)
    return index


@given(HISTORY, WORDS)
def test_scores_are_those_of_the_formula(lines, question):
    assert np.allclose(built(lines).bm25(question), naive_bm25(lines, question), atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(HISTORY.filter(lambda lines: any(lines)), WORDS.filter(bool))
def test_scores_are_those_of_bm25s(lines, question):
    bm25s = pytest.importorskip("bm25s")
    vocabulary = {term: number for number, term in enumerate("abcdefgh")}
    reference = bm25s.BM25(method="lucene", k1=K1, b=B)
    ids = [[vocabulary[term] for term in line] for line in lines]
    reference.index((ids, vocabulary), show_progress=False)
    expected = np.zeros(len(lines))
    for term, times in Counter(question).items():
        if any(term in line for line in lines):
            expected += times * reference.get_scores([term])
    assert np.allclose(built(lines).bm25(question), expected, atol=1e-6, rtol=1e-6)


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=25), WORDS)
def test_adding_and_removing_in_any_order_leaves_an_index_as_if_built_afresh(history, question):
    index = LineIndex()
    kept = {}
    for line, gone in history:
        kept[index.add(line)] = line
        if gone:
            oldest = min(kept)
            index.remove(oldest)
            del kept[oldest]
    fresh = LineIndex()
    fresh.extend(list(kept.values()))
    assert np.array_equal(index.bm25(question)[list(kept)], fresh.bm25(question))
    assert (index.n_docs, index.n_terms) == (fresh.n_docs, fresh.n_terms)


@given(HISTORY, WORDS)
def test_a_stored_index_answers_as_before(lines, question):
    index = built(lines)
    index.remove(0)
    again = LineIndex.from_bytes(index.to_bytes())
    again.add(lines[0])
    index.add(lines[0])
    assert np.array_equal(again.bm25(question), index.bm25(question))


@given(HISTORY, WORDS)
def test_the_parts_of_a_score_add_up(lines, question):
    index = built(lines)
    for doc, score in index.top(question, 5):
        assert sum(index.explain(question, doc).values()) == pytest.approx(score, abs=1e-4)


def test_a_line_that_is_not_there_cannot_be_removed():
    index = built([["a"]])
    index.remove(0)
    with pytest.raises(KeyError):
        index.remove(0)
    with pytest.raises(KeyError):
        index.remove(7)
