"""What the check needs to know of a language: its small words, and how it treats names."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from chat.library.language import language_of
from memory.service import folded

_LISTS = {
    "ar": "Arabic",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian_Bokmal",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sr": "Serbian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
}
_OTHER_SCRIPTS = {"Arabic", "Greek", "Persian", "Hebrew", "Hindi", "Korean", "Russian"}
_OTHER_SCRIPTS |= {"Serbian", "Ukrainian"}
# The lists are ordered by frequency; further down they hold names and words that tell.
_MOST_FREQUENT = 150
_UNIT = re.compile(
    r"(?:(?:kilo|centi|milli|mega|giga)?(?:met(?:er|re|ro)|gram|watt|hertz|lit(?:er|re|ro))"
    r"|celsius|fahrenheit|kelvin|degre|grad(?:o|os)?$|per\s?cent|prozent|porcent|процент|километр"
    r"|метр|килограмм|градус)"
)
# Languages in which a name looks the same in every sentence, but for an "s" at its end.
_NAMES_STAY = frozenset(["ca", "da", "en", "es", "fr", "id", "it", "nl", "no", "pt", "sv", "vi"])
_LATIN = re.compile("[a-z\u00df-\u024f]")
_LATIN_LISTS = tuple(code for code, name in _LISTS.items() if name not in _OTHER_SCRIPTS)


def language_in(sentence: str, likely: str) -> str:
    """The language of a sentence by its small words; the likely one where these do not decide."""
    words = {folded(word) for word in re.findall(r"[^\W\d_]+", sentence)}
    if not any(_LATIN.match(word) for word in words) or likely not in _LATIN_LISTS:
        return language_of(sentence)
    counts = {code: len(words & small_words(code)) for code in (likely, *_LATIN_LISTS)}
    found = max(counts, key=counts.__getitem__)
    return found if counts[found] else language_of(sentence)


@cache
def small_words(language: str) -> frozenset[str]:
    """Words that hold a sentence together and say nothing by themselves, folded."""
    name = _LISTS.get(language)
    if name is None:
        return frozenset()
    words = (files("justext") / "stoplists" / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(folded(word) for word in words[:_MOST_FREQUENT] if word.islower())


def is_unit(word: str) -> bool:
    """A unit written out, where the source may have its sign."""
    return _UNIT.match(folded(word)) is not None


def names_stay(language: str) -> bool:
    return language in _NAMES_STAY


def writes_nouns_large(language: str) -> bool:
    return language in {"de", "lb"}
