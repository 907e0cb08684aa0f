"""Search terms of a text: words of every script, folded and stemmed; bigrams where no spaces are.

No list of stop words: how rare a term is in the library decides what it weighs.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import regex
import snowballstemmer

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々"
_PIECE = regex.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)|[\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]+", regex.V1
)
_HAN = regex.compile(r"\p{Han}")
_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
_MAX_TERM_CHARS = 60
# A stemmer holds the word it works on, so no two threads may share one.
_own = threading.local()


def terms(text: str, language: str) -> list[str]:
    """The terms of a text in their order, repeated as often as they occur."""
    return [term for piece in _pieces(text) for term in _terms_of(piece, language)]


def query_terms(query: str, languages: Iterable[str]) -> list[str]:
    """Each term once, in the form that it has in documents of each of the languages."""
    forms = {
        term: None
        for piece in _pieces(query)
        for language in languages
        for term in _terms_of(piece, language)
    }
    return list(forms)


def n_words(text: str) -> int:
    """The length of a text in words; two characters count as one where no spaces are."""
    return sum(
        (len(match.group()) + 1) // 2 if match.group("unspaced") else 1
        for match in _PIECE.finditer(text)
    )


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Words, and runs without spaces (True)."""
    normal = unicodedata.normalize("NFKC", text).casefold()
    for match in _PIECE.finditer(normal):
        yield match.group(), bool(match.group("unspaced"))


def _terms_of(piece: tuple[str, bool], language: str) -> list[str]:
    text, unspaced = piece
    if not unspaced:
        return [_stem(text[:_MAX_TERM_CHARS], language)]
    pairs = [text[n : n + 2] for n in range(len(text) - 1)] or [text]
    # One Han character is often a word: a question may hold it alone.
    return pairs + (_HAN.findall(text) if len(text) > 1 else [])


@lru_cache(maxsize=100_000)
def _stem(word: str, language: str) -> str:
    """Stems know accents, so these are folded afterwards."""
    name = _STEMMERS.get(language)
    return _folded(_stemmer(name).stemWord(word) if name else word)


def _folded(word: str) -> str:
    """Without accents. The marks of Kana, Devanagari and the like are letters and stay."""
    apart = unicodedata.normalize("NFD", word)
    bare = "".join(c for c in apart if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def _stemmer(name: str) -> Any:
    stemmers = _own.__dict__.setdefault("stemmers", {})
    if name not in stemmers:
        stemmers[name] = snowballstemmer.stemmer(name)
    return stemmers[name]
