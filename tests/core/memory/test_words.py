from unittest import mock

import numpy as np
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine import History, words
from memory.engine.index import K1, B, idf
from memory.engine.plan import Plan
from memory.engine.terms import _WORD, stem, terms_of, word_terms
from memory.engine.words import word_scores
from tests.core.memory.builders import said, tool

english = snowballstemmer.stemmer("english").stemWord
WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "  delta", "\n"]), max_size=14)
TALK = st.lists(
    st.tuples(st.sampled_from(["user", "tool"]), WORDS.map(" ".join)), min_size=1, max_size=8
)


def naive(history, terms, plan):
    """Every term of every line counted one by one, with the plan's weights."""
    lines = [(entry, number) for entry in history.entries for number in range(len(entry.lines))]
    own = [terms_of(entry.line_text(number)) for entry, number in lines]
    slots = history.layout.slots.values
    headings = [list(history.index.terms_of(entry.first_row - 1)) for entry, _ in lines]

    def around(count, at):
        total = float(count(at))
        for sign, weights in ((-1, plan.before), (1, plan.after)):
            for distance, weight in enumerate(weights, 1):
                other = at + sign * distance
                if 0 <= other < len(lines) and slots[other] - slots[at] == other - at:
                    total += weight * count(other)
        return total

    def above(at):
        entry, number = lines[at]
        return [
            at - number + other
            for other, line in enumerate(entry.lines[:number])
            if other < number <= other + line.n_inside
        ]

    length = [
        around(lambda n: len(own[n]), at) + plan.enclosing * sum(len(own[n]) for n in above(at))
        + plan.heading * len(headings[at])
        for at in range(len(lines))
    ]  # fmt: skip
    scores = np.zeros(len(lines))
    for term, weight in terms.items():
        tf = [
            around(lambda n, t=term: own[n].count(t), at)
            + plan.enclosing * sum(own[n].count(term) for n in above(at))
            + plan.heading * headings[at].count(term)
            for at in range(len(lines))
        ]
        df = sum(count > 0 for count in tf)
        for at, count in enumerate(tf):
            norm = K1 * (1 - B + B * length[at] / (sum(length) / len(length) or 1.0))
            scores[at] += weight * idf(len(lines), df) * count / (count + norm) if count else 0
    return scores


@settings(max_examples=40, deadline=None)
@given(TALK, st.sampled_from([1, 40, 10_000]))
def test_scores_are_those_of_the_formula_over_the_surroundings(talk, at_once):
    history = History(
        [said(text) if role == "user" else tool(text, "x", "y") for role, text in talk]
    )
    plan = Plan()
    terms = {"alpha": 1.0, "beta": 0.5, "delta": 1.0, "here": 0.3, "y": 0.7, "user": 1.0}
    with mock.patch.object(words, "_AT_ONCE", at_once):
        fast = word_scores(history.index, history.layout, terms)
    assert np.allclose(fast, naive(history, terms, plan), atol=3e-4)
    assert ((fast > 0) == (naive(history, terms, plan) > 0)).all()


def test_a_term_that_counts_alone_scores_its_own_lines_only():
    history = History([tool("alpha\n  beta\n  gamma beta\ndelta", "x", "beta")])
    none = word_scores(history.index, history.layout, {})
    alone = word_scores(history.index, history.layout, {}, {"beta": 2.0})
    assert not none.any()
    assert (alone > 0).tolist() == [False, True, True, False]
    twice = word_scores(history.index, history.layout, {"alpha": 1.0}, {"beta": 2.0})
    assert np.allclose(twice, alone + word_scores(history.index, history.layout, {"alpha": 1.0}))


@settings(max_examples=40, deadline=None)
@given(TALK)
def test_the_surroundings_weighed_line_by_line_are_those_weighed_at_once(talk):
    history = History([said(t) if role == "user" else tool(t, "x", "y") for role, t in talk])
    layout = history.layout
    told = layout.around_length.values[layout.slots.values]
    lengths = [len(terms_of(e.line_text(n))) for e in history.entries for n in range(len(e.lines))]
    assert layout.length.values[layout.slots.values].tolist() == lengths
    assert np.isclose(layout.mean_length, told.mean() if len(told) and told.any() else 1.0)


def test_identifiers_count_whole_and_in_parts():
    assert set(word_terms("MAX_CACHE_SIZE")) == {"max_cache_size", "max", "cach", "size"}
    assert set(word_terms("getHTTPResponse")) >= {"gethttpresponse", "get", "http"}
    assert "src/app.py" in word_terms("src/app.py")
    assert {"v2.0.1", "2"} <= set(word_terms("v2.0.1"))


def test_a_name_is_found_without_the_marks_round_it():
    assert word_terms("_buffer") == ("_buffer", "buffer")
    assert word_terms("__init__") == ("__init__", "init")
    assert word_terms("buffer_") == ("buffer_", "buffer")
    assert word_terms("_größe") == ("_grosse", stem("grosse"))
    assert word_terms("_") == ("_",)
    assert word_terms("Ana’s") == word_terms("Ana's") == ("ana",)


def test_small_and_odd_words_are_terms():
    assert {"c++", "3pm", "5", "c#"} <= set(terms_of("C++ at 3pm, 5 times, not C#"))
    assert terms_of("Ana's") == terms_of("ana")


def test_case_width_and_accents_do_not_part_words():
    assert terms_of("CAFÉ") == terms_of("cafe") == terms_of("ｃａｆｅ")
    assert terms_of("كِتَاب") == terms_of("كتاب")


def test_the_beginning_of_a_word_outlives_its_inflection():
    assert set(terms_of("Versicherungen")) & set(terms_of("Versicherung"))
    assert set(terms_of("собирается")) & set(terms_of("собираются"))
    assert set(terms_of("Katze")) & set(terms_of("Katzen"))


def test_scripts_without_spaces_share_pairs_of_characters():
    assert set(terms_of("妹は長崎に住んでいます")) & set(terms_of("妹はどこ"))


def test_an_ideograph_is_a_word_of_its_own():
    assert set(terms_of("猫吃什么？")) & set(terms_of("猫只吃金枪鱼。")) == {"猫", "吃"}


@given(st.text("aZ9_+#.-/:@' (\n", max_size=30))
def test_an_ascii_text_has_the_words_of_any_text(text):
    expected = [term for word in _WORD.findall(text) for term in terms_of(word)]
    assert terms_of(text) == expected


@given(
    st.text("abcdefghilmnorstuvyz", min_size=1, max_size=8),
    st.sampled_from(["", "able", "ant", "ed", "ing", "ion", "er", "ism", "ment", "ogi", "ness"]),
)
def test_a_word_that_is_not_stemmed_has_no_ending_to_lose(word, ending):
    assert stem(word + ending) == english(word + ending)
