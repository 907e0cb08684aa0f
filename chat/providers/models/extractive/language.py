"""Just enough about languages to compare a question with a sentence: which one it is, its terms.

What is known of a language lies in `languages/*.toml`. Latin-script languages are told apart by
their function words, the others by their script. The function words also say which words of a
question carry no subject. Text in a script without spaces is compared by pairs of characters.
"""

from __future__ import annotations

import re
import threading
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import snowballstemmer

_FOLDER = Path(__file__).parent / "languages"
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff"
_TOKEN = re.compile(rf"[{_SPACELESS}]+|(?:(?![{_SPACELESS}])[^\W_]|[{_MARKS}])+")
_SPACELESS_TOKEN = re.compile(rf"[{_SPACELESS}]")
_KANJI = re.compile(r"[\u3005\u3400-\u9fff\uf900-\ufaff]")
_HIRAGANA = re.compile(r"[\u3040-\u309f]")
_KATAKANA = re.compile(r"[\u30a0-\u30ff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", _KANJI),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
_UNACCENTED = {ord("ё"): "е"} | {
    code: unicodedata.normalize("NFD", chr(code))[0]
    for code in (*range(0xC0, 0x250), *range(0x386, 0x3CF))
}
_SAMPLE_CHARS = 4000
_MEASURE, _NAME, _SUBJECT = 0.6, 1.5, 0.5
_own = threading.local()

FULLY_KNOWN = ("en", "es", "de", "fr", "ja", "ru")


@dataclass(frozen=True, slots=True)
class Language:
    """`sections` holds the rest of its file as it is; a language we barely know has none."""

    code: str
    function_words: frozenset[str] = frozenset()
    measures: frozenset[str] = frozenset()
    letters: str = ""
    stemmer: str = ""
    nouns_have_capitals: bool = False
    compounds: bool = False
    spaced: bool = True
    sections: Mapping[str, Any] | None = None

    def section(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (self.sections or {}).get(name, {})
        return found


def language(code: str) -> Language:
    return _languages().get(code) or Language(code)


@lru_cache(maxsize=1)
def _languages() -> dict[str, Language]:
    known = {code: _read(f"{code}.toml") for code in FULLY_KNOWN} | _read("others.toml")
    return {code: _language(code, content) for code, content in known.items()}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / name).read_text(encoding="utf-8"))


def _language(code: str, content: Mapping[str, Any]) -> Language:
    return Language(
        code=code,
        function_words=frozenset(content["function_words"].split()),
        measures=frozenset(content.get("measures", "").split()),
        letters=content.get("letters", ""),
        stemmer=content.get("stemmer", ""),
        nouns_have_capitals=content.get("nouns_have_capitals", False),
        compounds=content.get("compounds", False),
        spaced=content.get("spaced", True),
        sections=content,
    )


def language_of(text: str, default: str = "en") -> str:
    """A two-letter code. `default` where nothing tells."""
    sample = text[:_SAMPLE_CHARS]
    n_latin = len(_LATIN.findall(sample))
    for code, script in _SCRIPTS:
        n_letters = len(script.findall(sample))
        if n_letters > n_latin or (code == "ja" and n_letters * 3 > n_latin):
            return code
    return (_latin_language(sample) if n_latin else "") or default


def _latin_language(text: str) -> str:
    """The language with most of the function words; a word that several share counts for less."""
    votes: dict[str, float] = defaultdict(float)
    lowered = text.lower()
    for word in words(text):
        speakers = [known.code for known in _languages().values() if word in known.function_words]
        for code in speakers:
            votes[code] += 1 / len(speakers)
    for known in _languages().values():
        votes[known.code] += 0.5 * sum(lowered.count(letter) for letter in known.letters)
    code, n_votes = max(votes.items(), key=lambda vote: vote[1], default=("", 0.0))
    return code if n_votes else ""


def folded(text: str) -> str:
    """Without case, and without accents on Latin and Greek letters; ё is е."""
    return unicodedata.normalize("NFKC", text).casefold().translate(_UNACCENTED)


def words(text: str) -> list[str]:
    """Folded tokens in order. A run of a script without spaces is one token."""
    return _TOKEN.findall(folded(text))


def is_spaceless(word: str) -> bool:
    """Whether it is a run of a script that writes no spaces."""
    return _SPACELESS_TOKEN.match(word) is not None


def terms(text: str, code: str) -> list[str]:
    """Search terms in order: stems, and characters and their pairs where no spaces are written."""
    return [term for word in words(text) for term in _terms_of(word, code)]


def _terms_of(word: str, code: str) -> Sequence[str]:
    if not is_spaceless(word):
        return (stem(word, code),)
    pairs = [word[i : i + 2] for i in range(len(word) - 1)]
    return [*(character for character in word if _KANJI.match(character)), *pairs]


@lru_cache(maxsize=50_000)
def stem(word: str, code: str) -> str:
    base = str(language(code).section("irregular").get(word, word))
    name = language(code).stemmer
    return str(_stemmer(name).stemWord(base)) if name and base.isalpha() else base


def _stemmer(name: str) -> Any:
    """One a thread: a stemmer holds the word that it works on."""
    stemmers = _own.__dict__.setdefault("stemmers", {})
    if name not in stemmers:
        stemmers[name] = snowballstemmer.stemmer(name)
    return stemmers[name]


def informative_terms(question: str, code: str, as_code: str) -> dict[str, float]:
    """The terms of a question that say what it is about, with weights, stemmed as in `as_code`.

    Words that only ask are left out; a measure ("tall") weighs little, since the answer seldom
    repeats it; names and numbers weigh more.
    """
    asking = language(code)
    names = set() if asking.nouns_have_capitals else _names(question)
    weights: dict[str, float] = {}
    for word in words(question):
        if _says_nothing(word, asking):
            continue
        emphasis = _MEASURE if word in asking.measures else _NAME if word in names else 1.0
        for term in _terms_of(word, as_code):
            if term not in asking.function_words:
                weight = emphasis * _weight_of_script(term)
                weights[term] = max(weight, weights.get(term, 0.0))
    return weights


def subject_terms(text: str, code: str) -> frozenset[str]:
    """The terms that alone can say what a title is about."""
    weights = informative_terms(text, code, code)
    return frozenset(term for term, weight in weights.items() if weight >= _SUBJECT)


def measure_terms(question: str, code: str, as_code: str) -> frozenset[str]:
    measures = language(code).measures
    return frozenset(stem(word, as_code) for word in words(question) if word in measures)


def informative_words(question: str, code: str) -> frozenset[str]:
    asking = language(code)
    return frozenset(word for word in words(question) if not _says_nothing(word, asking))


def _says_nothing(word: str, asking: Language) -> bool:
    return word in asking.function_words or (len(word) == 1 and word.isascii() and word.isalpha())


def _names(question: str) -> set[str]:
    """Folded words that are written with a capital inside a sentence, and numbers."""
    found = re.findall(r"(?<=[^\s.!?¿¡:]\s)[^\W\d_]*[A-ZÀ-ÞА-Я][\w’'-]*|\d+", question)
    return {word for name in found for word in words(name)}


def _weight_of_script(term: str) -> float:
    """How much a term says by its script: a pair of hiragana is mostly grammar."""
    if not is_spaceless(term):
        return 1.0
    if len(term) == 1:
        return 0.5
    n_kanji = len(_KANJI.findall(term))
    if n_kanji == 1:
        return 0.3
    if _HIRAGANA.search(term):
        return 0.15
    return 0.6 if _KATAKANA.search(term) else 1.0
