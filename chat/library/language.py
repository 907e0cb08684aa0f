"""Which language a text or a question is in, from its script and its small words."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import regex

# The first match decides; the order puts letters of one language before those of many.
_SCRIPTS = (
    (r"[\p{Hiragana}\p{Katakana}]", "ja"),
    (r"\p{Hangul}", "ko"),
    (r"\p{Han}", "zh"),
    (r"[іїєґ]", "uk"),
    (r"[ђћџљњ]", "sr"),
    (r"\p{Cyrillic}", "ru"),
    (r"\p{Greek}", "el"),
    (r"[پچژگ]", "fa"),
    (r"\p{Arabic}", "ar"),
    (r"\p{Hebrew}", "he"),
    (r"\p{Armenian}", "hy"),
    (r"\p{Georgian}", "ka"),
    (r"\p{Devanagari}", "hi"),
    (r"\p{Bengali}", "bn"),
    (r"\p{Tamil}", "ta"),
    (r"\p{Thai}", "th"),
)
_STOPLISTS = {
    "en": "English",
    "es": "Spanish",
    "de": "German",
    "fr": "French",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "pl": "Polish",
    "sv": "Swedish",
    "da": "Danish",
    "no": "Norwegian_Bokmal",
    "fi": "Finnish",
    "cs": "Czech",
    "ro": "Romanian",
    "hu": "Hungarian",
    "tr": "Turkish",
    "ca": "Catalan",
    "id": "Indonesian",
    "vi": "Vietnamese",
}
# The lists are ordered by frequency and of very different length. With the first thousand words of
# each, 33 of 40 short questions in 18 languages are told apart; whole lists make names Finnish.
_MOST_FREQUENT = 1_000
_SAMPLE_CHARS = 2_000


def language_of(text: str) -> str:
    """Two letters; "en" when nothing tells. A guess: a wrong one costs a worse search, no more."""
    sample = text[:_SAMPLE_CHARS].lower()
    words = set(regex.findall(r"\p{Latin}+", sample))
    others = regex.findall(r"[^\P{L}\p{Latin}]", sample)
    if len(others) > sum(map(len, words)) / 4:
        return _by_script(sample)
    counts = {language: len(words & frequent) for language, frequent in _frequent_words().items()}
    # "en" stands first, so it also wins a tie.
    return max(counts, key=lambda language: counts[language])


def _by_script(sample: str) -> str:
    found = (language for letters, language in _SCRIPTS if regex.search(letters, sample))
    return next(found, "en")


@cache
def _frequent_words() -> dict[str, frozenset[str]]:
    folder = files("justext") / "stoplists"
    return {
        language: frozenset(
            (folder / f"{name}.txt").read_text("utf-8").lower().splitlines()[:_MOST_FREQUENT]
        )
        for language, name in _STOPLISTS.items()
    }
