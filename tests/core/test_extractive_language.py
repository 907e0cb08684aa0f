"""What the built-in answerer knows of languages."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from chat.providers.models.extractive.language import (
    FULLY_KNOWN,
    informative_terms,
    language,
    language_of,
    terms,
)
from chat.providers.models.extractive.questions import asked_by, differing, fit


@pytest.mark.parametrize("code", FULLY_KNOWN)
def test_every_language_says_all_that_english_says(code: str) -> None:
    wording, english = language(code).section("wording"), language("en").section("wording")
    assert wording.keys() == english.keys()
    for key, sentence in english.items():
        assert fields(wording[key]) == fields(sentence), key


def fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


@pytest.mark.parametrize("code", FULLY_KNOWN)
def test_every_pattern_of_a_language_can_be_read(code: str) -> None:
    known = language(code)
    sections = [known.section(name) for name in ("asks", "asks_anywhere", "shows", "follow_up")]
    patterns = [pattern for section in sections for pattern in section.values()]
    patterns += [pattern for unit in known.section("units").values() for pattern in unit.values()]
    assert patterns
    for pattern in patterns:
        re.compile(pattern)
        assert not re.fullmatch(pattern, ""), pattern


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("why does ice float", "en"),
        ("por que flota el hielo", "es"),
        ("warum schwimmt das Eis", "de"),
        ("pourquoi la glace flotte-t-elle", "fr"),
        ("富士山の高さは", "ja"),
        ("почему лёд плавает", "ru"),
        ("perché il ghiaccio galleggia", "it"),
        ("por que o gelo não afunda", "pt"),
        ("waarom drijft het ijs", "nl"),
        ("물은 왜 업니까", "ko"),
        ("Титан", "ru"),
        ("?!", "en"),
    ],
)
def test_the_language_of_a_short_question_is_recognised(text: str, code: str) -> None:
    assert language_of(text) == code


@pytest.mark.parametrize(
    ("question", "code", "kind"),
    [
        ("Why does it rain when it is warm?", "en", "reason"),
        ("What happens when water freezes?", "en", ""),
        ("What is the height of the tower?", "en", "amount"),
        ("and when was that?", "en", "time"),
        ("Who built it?", "en", "person"),
        ("¿Dónde está?", "es", "place"),
        ("Wie hoch ist der Berg?", "de", "amount"),
        ("Comment s'appelle le cheval ?", "fr", "name"),
        ("Что такое байт?", "ru", "meaning"),
        ("いつですか", "ja", "time"),
    ],
)
def test_what_a_question_asks_for(question: str, code: str, kind: str) -> None:
    assert asked_by(question, code).kind == kind


def test_a_count_fits_better_the_nearer_it_stands_to_what_is_counted() -> None:
    asked = asked_by("How many keys does a piano have?", "en")
    near, far, other = (
        fit(asked, sentence, "en", frozenset({"keys", "piano"}))
        for sentence in ("It has 88 keys.", "It has 88 black and white keys.", "It has 3 pedals.")
    )
    assert near > far > other > 0


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("Saturn has 82 known moons.", "Saturn has 274 known moons.", True),
        ("There are nine planets.", "There are eight planets.", True),
        ("It is 8,848 metres high.", "It is 8849 metres high.", False),
        ("It was built in 1889.", "It was built in 1890.", False),
        ("It has 88 keys.", "It has three pedals.", False),
        ("It costs 1.5 million euros.", "It costs 1.50 million euros.", False),
    ],
)
def test_figures_differ_only_where_the_same_thing_is_counted(
    one: str, other: str, differ: bool
) -> None:
    assert differing(one, other, "en") is differ


def test_words_that_only_ask_carry_no_subject_and_names_carry_more() -> None:
    weights = informative_terms("How tall is the Eiffel Tower?", "en", "en")
    assert weights == {"tall": 0.6, "eiffel": 1.5, "tower": 1.5}


def test_accents_do_not_matter_and_japanese_is_cut_into_pairs() -> None:
    assert terms("garantía", "es") == terms("garantia", "es")
    assert terms("Blätter", "de") == terms("Blatt", "de")
    assert {"富士", "士山"} <= set(terms("富士山", "ja"))
