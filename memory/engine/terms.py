"""Search terms of a text: what a line can be found by.

Words are runs of letters, digits and the marks that belong to them, in every script, folded in
case, width and accents. An identifier, a path or a version counts whole and in its parts. Words
of a script with a stemmer count by their stem, and longer ones by their beginning too, which is
what inflection leaves alone in most languages. Scripts that write no spaces count by their
character pairs and ideographs. There is no list of stop words: rarity in the history at hand
weighs terms. A term is not a token (`tokens.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

import snowballstemmer


def _mark_ranges() -> str:
    """All combining marks as ranges of a character class; Python's own words leave them out."""
    ranges: list[list[int]] = []
    for code in range(0x300, 0x1F000):
        if unicodedata.category(chr(code)) not in ("Mn", "Mc"):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_LETTER = rf"[\w{_mark_ranges()}\u200c\u200d]"
_WORD = re.compile(rf"[A-Za-z](?:\+\+|#)(?!\w)|{_LETTER}+(?:[.\-/:@'’]{_LETTER}+)*")
# The same for a text of ASCII alone, and for one that names no C++ or C#: at a fourth of the time
# and at a sixth.
_ASCII_WORD = re.compile(r"[A-Za-z](?:\+\+|#)(?!\w)|\w+(?:[.\-/:@']\w+)*", re.ASCII)
_PLAIN_WORD = re.compile(r"\w+(?:[.\-/:@']\w+)*", re.ASCII)
_PLAIN = re.compile(r"[a-z]+")
_JOINT = re.compile(r"[.\-/:@'’_]+")
_CASE_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[+#]+")
# Ana's, Ana’s: found by "Ana". Not a name_s.
_POSSESSIVE = re.compile(r"[^_]+[.\-/:@'’][sS]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af]+"
)
_SCRIPTS = (
    ("english", re.compile("[a-z\u00df-\u024f]+")),
    ("greek", re.compile("[\u0370-\u03ff\u1f00-\u1fff]+")),
    ("russian", re.compile("[\u0400-\u04ff]+")),
    ("arabic", re.compile("[\u0600-\u06ff]+")),
    ("hindi", re.compile("[\u0900-\u097f]+")),
    ("tamil", re.compile("[\u0b80-\u0bff]+")),
)
# Endings that no step of the English stemmer touches: every suffix that it knows ends otherwise.
_UNTOUCHED = re.compile(
    "[a-z\u00df-\u024f]*(?:[abfhjkopquvwxz]|(?<!e)d|(?<!n)g|(?<![ae]n)t|(?<![eo])r|(?<!o)n|(?<!s)m)"
)
_LONGEST_WORD = 120
_MEMORY = 200_000
_BEGINNING = 5


_known: dict[str, tuple[str, ...]] = {}


def terms_of(text: str) -> list[str]:
    """The terms of a text in its order, with repetition. Words seen before are not analysed."""
    terms: list[str] = []
    for word in _words(text):
        found = _known.get(word)
        terms += _learn(word) if found is None else found
    return terms


def exact_terms(text: str) -> list[str]:
    """The same without the beginnings of longer words: for comparing texts, not for finding."""
    return [term for word in _words(text) for term in _exact(word)]


def _words(text: str) -> list[str]:
    if not text.isascii():
        return _WORD.findall(text)
    return (_ASCII_WORD if "#" in text or "++" in text else _PLAIN_WORD).findall(text)


@lru_cache(maxsize=_MEMORY)
def _exact(word: str) -> tuple[str, ...]:
    return word_terms(word)


def _learn(word: str) -> tuple[str, ...]:
    if len(_known) >= _MEMORY:
        _known.clear()
    terms = word_terms(word)
    # A short stem may have lost what inflection leaves alone: "Katze" is "katz", "Katzen" is not.
    whole = (fold(word),) if len(terms) == 1 else terms
    terms = _known[word] = terms + tuple(map(_beginning, filter(_is_long, whole)))
    return terms


def _is_long(term: str) -> bool:
    if len(term) < _BEGINNING or not term[:_BEGINNING].isalpha():
        return False
    return term.isascii() or not _UNSPACED.match(term)


def _beginning(term: str) -> str:
    return f"{term[:_BEGINNING]}…"


def word_terms(word: str) -> tuple[str, ...]:
    """The terms of one word: itself, then its parts where it has some."""
    if _PLAIN.fullmatch(word):
        return (stem(word),)
    if not word.isascii() and _UNSPACED.search(word):
        return tuple(_unspaced_terms(word))
    if word[-1] in "sS" and _POSSESSIVE.fullmatch(word):
        word = word[:-2]
    whole = fold(word)[:_LONGEST_WORD]
    parts = [folded for part in _parts(word) if (folded := fold(part))]
    if not parts or parts == [whole]:
        return (stem(whole),) if whole else ()
    return (whole, *(stem(part) for part in parts if part != whole))


def _parts(word: str) -> list[str]:
    """The parts of a compound, an identifier, a path or a version, in order."""
    if word.isascii():
        return _CASE_PARTS.findall(word)
    pieces = filter(None, _JOINT.split(word))
    return [part for one in pieces for part in (_parts(one) if one.isascii() else [one])]


def _unspaced_terms(word: str) -> list[str]:
    """Pairs of an unspaced script and its ideographs; other words inside are words."""
    terms: list[str] = []
    position = 0
    folded = unicodedata.normalize("NFKC", word)
    for match in _UNSPACED.finditer(folded):
        if position < match.start():
            terms += word_terms(folded[position : match.start()])
        run = match[0]
        terms += [run[at : at + 2] for at in range(len(run) - 1)]
        terms += [char for char in run if char >= "\u3400"]
        position = match.end()
    if position < len(folded):
        terms += word_terms(folded[position:])
    return terms


def fold(word: str) -> str:
    """The word without differences of case, width and accent."""
    if word.isascii():
        return word.lower()
    spread = unicodedata.normalize("NFKD", word.casefold())
    bare = "".join(char for char in spread if not _is_accent(char))
    return unicodedata.normalize("NFKC", bare)


def _is_accent(char: str) -> bool:
    """Accents and vowel points go; the vowel signs of Indic scripts are letters and stay."""
    combining = unicodedata.combining(char)
    return combining >= 200 or 10 <= combining <= 35 or char in "\u200c\u200d\u0640"


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    stem_word: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem_word


@lru_cache(maxsize=_MEMORY)
def stem(word: str) -> str:
    """The stem of a folded word by the stemmer of its script; other words as they are."""
    if len(word) > 2 and not _UNTOUCHED.fullmatch(word):
        for language, letters in _SCRIPTS:
            if letters.fullmatch(word):
                return _stemmer(language)(word)
    return word
