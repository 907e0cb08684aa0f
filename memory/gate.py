"""What may become memory: only what the person said, and nothing that is private.

A change is judged before it is made. It is let in when the words that it adds are words of the
message that it rests on; it waits for the person's yes when they are not; it is refused when
nothing worth keeping is left of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.engine.terms import exact_terms, fold
from memory.phrases import asks_to_forget, is_trivial, structural_terms

_WORD = re.compile(r"\w[\w.\-/:@'’+#]*\w|\w")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Inflected forms of one word: the same beginning, and short endings ("Kraków", "Krakowie").
_MIN_STEM, _MAX_ENDING = 4, 3
_MAX_NAMED = 6


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person: its id in the store, and its words."""

    message_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`lets_in` without a question, else `why` says what the person should know."""

    lets_in: bool
    why: str = ""


def judge_words(added: str, removed: str, said: Said | None) -> Verdict:
    """Whether a change rests on what was said. `added` and `removed` are the changed texts."""
    if said is None:
        return Verdict(False, "It does not say which of your messages it rests on.")
    if is_trivial(said.text):
        return Verdict(False, "Your message did not say this.")
    known = removed if removed.strip() else ""
    new = [word for word in significant_words(added) if not _occurs(word, _vocabulary(known))]
    if not new:
        return _judge_removal(removed, added, said)
    mine = _vocabulary(said.text)
    foreign = [word for word in new if not _occurs(word, mine)]
    if not foreign:
        return Verdict(True)
    return Verdict(False, f"You did not say: {', '.join(foreign[:_MAX_NAMED])}.")


def judge_forgetting(text: str, said: Said | None) -> Verdict:
    """Whether the person asked to have this forgotten: with such a verb, and naming some of it."""
    if said is None or not asks_to_forget(said.text):
        return Verdict(False, "You did not ask to have this forgotten.")
    mine = _vocabulary(said.text)
    if any(_occurs(word, mine) for word in _all_words(text)):
        return Verdict(True)
    return Verdict(False, "You asked to forget something, but did not name this.")


def _judge_removal(removed: str, added: str, said: Said) -> Verdict:
    gone = [word for word in _all_words(removed) if not _occurs(word, _vocabulary(added))]
    mine = _vocabulary(said.text)
    if any(_occurs(word, mine) for word in gone):
        return Verdict(True)
    return Verdict(False, "It takes something away that your message does not speak of.")


def worth_keeping(text: str) -> bool:
    return not is_trivial(text)


def significant_words(text: str) -> Sequence[str]:
    """The words that say something, each once, in their order."""
    structural = structural_terms()
    found = dict.fromkeys(_WORD.findall(text))
    return [word for word in found if not set(exact_terms(word)) <= structural]


def _all_words(text: str) -> list[str]:
    """Every word that is longer than a particle; labels such as "Name" count here."""
    return [
        word for word in dict.fromkeys(_WORD.findall(text)) if len(word) > 2 or not word.isascii()
    ]


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    terms: frozenset[str]
    words: frozenset[str]
    text: str


def _vocabulary(text: str) -> _Vocabulary:
    words = frozenset(fold(word) for word in _WORD.findall(text))
    return _Vocabulary(frozenset(exact_terms(text)), words, fold(text))


def _occurs(word: str, vocabulary: _Vocabulary) -> bool:
    if _UNSPACED.search(word):
        return fold(word) in vocabulary.text
    terms = exact_terms(word)
    if terms and (terms[0] in vocabulary.terms or _parts_occur(terms, vocabulary)):
        return True
    folded = fold(word)
    return any(_same_stem(folded, other) for other in vocabulary.words)


def _parts_occur(terms: Sequence[str], vocabulary: _Vocabulary) -> bool:
    return len(terms) > 1 and set(terms[1:]) <= vocabulary.terms


def _same_stem(one: str, other: str) -> bool:
    if not (one.isalpha() and other.isalpha()):
        return False
    n_common = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    longest = max(len(one), len(other)) - n_common
    return n_common >= _MIN_STEM and longest <= _MAX_ENDING and n_common > longest
