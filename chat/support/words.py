"""The check by words: what a sentence says must stand in the passages that it cites.

Numbers, dates and names are strict: each must be there, a number also where this one is rounded.
Of the other words a share must be there, by stem or by beginning, as a sentence may say the same
in other words. The share is a bet; `tests/core/test_support.py` measures it on labelled sentences.
A source in another language than the sentence can be held against its numbers alone.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import islice

from chat.agent.values import Source
from chat.library.language import language_of
from chat.support.languages import (
    is_unit,
    language_in,
    names_stay,
    small_words,
    writes_nouns_large,
)
from chat.support.numbers import (
    Day,
    days_in,
    exact_number,
    is_given,
    number_word,
    numbers_in,
    values_of,
)
from memory.service import exact_terms, folded

MIN_SHARE = 0.3
MIN_WORDS = 3
MAX_NAMED = 6

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}ー]+")
_WORD = re.compile(rf"[^\W\d_{_UNSPACED}](?:[\w.'’+#&-]*\w)?|\d+[^\W\d_]\w*")
_KANA = re.compile("[\u3040-\u309f]+")
_MARKUP = re.compile(r"\*\*|__|~~|[*_`]")
# What ends a sentence, and marks that may open the next.
_STARTS = re.compile(r"(?:[.!?:…。！？]\s*|[\n•|])\W*$")
_LOOK_BACK = 12
_JOINT = re.compile(r"[.'’&\-/]+")
_MIN_STEM, _MAX_ENDING = 4, 3


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text. `starts` says that it begins a sentence, where a capital means nothing."""

    text: str
    starts: bool

    @property
    def is_large(self) -> bool:
        return self.text[0].isupper()

    @property
    def is_code(self) -> bool:
        """Such as "DNA", "H2O" or "iPhone": written the same wherever it stands."""
        letters = [char for char in self.text if char.isalpha()]
        inner = any(char.isupper() for char in self.text[1:] if char.isalpha())
        has_digit = any(char.isdigit() for char in self.text)
        return (len(letters) > 1 and inner and "-" not in self.text) or (
            has_digit and bool(letters) and not self.text[0].isdigit()
        )


class WordChecker:
    """The `SentenceChecker` that needs no model. One for each answer: it keeps what it has read."""

    def __init__(self) -> None:
        self._read: dict[tuple[Source, ...], Evidence] = {}

    async def problem(self, claim: str, cited: Sequence[Source], *, context: str) -> str:
        await asyncio.sleep(0)
        key = tuple(cited)
        if key not in self._read:
            self._read[key] = evidence_of(cited)
        return _problem(claim, self._read[key], context)


def problem_of(claim: str, cited: Sequence[Source], *, context: str = "") -> str:
    """What is missing from the passages, such as "“146” is not there"; empty when nothing is."""
    return _problem(claim, evidence_of(cited), context)


def evidence_of(cited: Iterable[Source]) -> Evidence:
    return Evidence("\n".join(_told(source) for source in cited))


def _problem(claim: str, evidence: Evidence, context: str) -> str:
    if not evidence.text.strip():
        return "its source has no text"
    check = _Claim(plain(claim), evidence, plain(context))
    # One more than is named: the rest need not be looked for.
    missing = list(dict.fromkeys(islice(check.missing_strict(), MAX_NAMED + 1)))
    if missing:
        return f"{_quoted(missing)} {'is' if len(missing) == 1 else 'are'} not there"
    if check.is_foreign:
        return ""
    missing = check.missing_words()
    return f"most of it is not there: {_quoted(missing)}" if missing else ""


def plain(text: str) -> str:
    return _MARKUP.sub("", unicodedata.normalize("NFKC", text))


def _told(source: Source) -> str:
    """What of a source a sentence may rest on: what the model was shown of it."""
    published = source.published_at.date().isoformat() if source.published_at else ""
    passages = (span.of(source.text) for span in source.passages)
    return "\n".join([*passages, source.title, published, source.domain])


def _quoted(words: Sequence[str]) -> str:
    named = ", ".join(f"“{word}”" for word in words[:MAX_NAMED])
    return f"{named}, …" if len(words) > MAX_NAMED else named


class Evidence:
    """What the passages hold, in the forms in which it is looked up."""

    def __init__(self, text: str) -> None:
        self.text = plain(text)

    @cached_property
    def language(self) -> str:
        return language_of(self.text)

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(exact_terms(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Folded words, whole and in the parts that a hyphen or a point joins."""
        return frozenset(
            folded(part)
            for word in words_in(self.text)
            for part in (word.text, *_JOINT.split(word.text))
            if part
        )

    @cached_property
    def beginnings(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for word in self.words:
            if len(word) >= _MIN_STEM:
                found.setdefault(word[:_MIN_STEM], []).append(word)
        return found

    @cached_property
    def flat(self) -> str:
        return folded(self.text)

    @cached_property
    def uses(self) -> dict[str, bool]:
        return _uses(self.text)

    @cached_property
    def initials(self) -> list[str]:
        """Those of neighbouring large words, such as "tiau" of "The International Astronomical
        Union"."""
        runs = re.findall(r"[A-Z]\w+(?:[ -](?:of |for |the |and )?[A-Z]\w+)+", self.text)
        return ["".join(re.findall(r"\b[A-Z]", run)).lower() for run in runs]

    @cached_property
    def days(self) -> list[Day]:
        return days_in(self.text, [self.language])

    def has_day(self, day: Day) -> bool:
        """The month, and the day if one is named, in one date of the passages."""
        return any(one.month == day.month and day.day in (None, one.day) for one in self.days)

    @cached_property
    def values(self) -> frozenset[Decimal]:
        return values_of(self.text, [self.language])

    def has_name(self, word: str, language: str) -> bool:
        parts = [part for part in _JOINT.split(word) if len(part) > 1] or [word]
        return folded(word) in self.words or all(self._has_name(one, language) for one in parts)

    def _has_name(self, word: str, language: str) -> bool:
        name = folded(word)
        if name in self.words or set(exact_terms(word)) <= self.terms:
            return True
        if len(name) > 1 and any(one.endswith(name) for one in self.initials):
            return True
        near = self.beginnings.get(name[:_MIN_STEM], ())
        if names_stay(language):
            return any(_is_longer(name, one) or _is_longer(one, name) for one in near)
        return any(_same_stem(name, one) for one in near)

    def has_word(self, word: str) -> bool:
        name = folded(word)
        if name in self.words or not self.terms.isdisjoint(exact_terms(word)):
            return True
        return any(_same_stem(name, one) for one in self.beginnings.get(name[:_MIN_STEM], ()))


class _Claim:
    """One sentence in front of the evidence."""

    def __init__(self, text: str, evidence: Evidence, context: str) -> None:
        self._text = text
        self._evidence = evidence
        self._context = context
        self._language = language_in(text, evidence.language)
        self._numbers = numbers_in(text)
        self._words = list(words_in(text))
        self._days = days_in(text, [self._language])
        self._months = {part for day in self._days for part in re.findall(r"\w+", day.raw)}

    @property
    def is_foreign(self) -> bool:
        return self._language != self._evidence.language

    def missing_strict(self) -> Iterator[str]:
        """Numbers, dates and names that are not there, in this order."""
        for number in self._numbers:
            if not is_given(number, self._evidence.values):
                yield number.raw
        following = [word.text for word in self._words[1:]] + [""]
        for word, after in zip(self._words, following, strict=False):
            value = exact_number(word.text, after)
            if value is not None and value not in self._evidence.values:
                yield word.text
        for day in self._days:
            if not self._evidence.has_day(day):
                yield day.raw
        if not self.is_foreign:
            for name in self._names():
                if not self._evidence.has_name(name, self._language):
                    yield name

    def _names(self) -> Iterator[str]:
        for position, word in enumerate(self._words):
            after = self._words[position + 1 : position + 2]
            before = self._words[position - 1 : position] if position else []
            if self._is_name(word, before, after):
                yield word.text

    def _is_name(self, word: Word, before: Sequence[Word], after: Sequence[Word]) -> bool:
        if word.is_code:
            return True
        if not word.is_large or len(word.text) < 2 or self._is_small(word):
            return False
        if self._is_counted(word) or is_unit(word.text):
            return False
        if writes_nouns_large(self._language):
            beside = [*before, *after]
            return not word.starts and any(self._may_be_name(one) for one in beside)
        if not word.starts:
            return True
        return any(self._may_be_name(one) for one in after) or self._is_name_elsewhere(word.text)

    def _may_be_name(self, word: Word) -> bool:
        return word.is_large and not word.starts and not self._is_small(word)

    def _is_small(self, word: Word) -> bool:
        return folded(word.text) in small_words(self._language)

    def _is_counted(self, word: Word) -> bool:
        return number_word(word.text) is not None or word.text in self._months

    def _is_name_elsewhere(self, word: str) -> bool:
        """Whether other sentences write it large, and none writes it small."""
        name = folded(word)
        found = [uses[name] for uses in (self._context_uses, self._evidence.uses) if name in uses]
        return bool(found) and all(found)

    @cached_property
    def _context_uses(self) -> dict[str, bool]:
        return _uses(self._context)

    def missing_words(self) -> list[str]:
        """The words that are not there, where they are too many."""
        words = list(dict.fromkeys(self._ordinary()))
        lost = [word for word in words if not self._evidence.has_word(word)]
        if self._is_too_much(len(lost), len(words)):
            return lost
        pairs = list(dict.fromkeys(self._pairs()))
        gone = [pair for pair in pairs if pair not in self._evidence.flat]
        return gone if self._is_too_much(len(gone), len(pairs)) else []

    def _is_too_much(self, n_lost: int, n_words: int) -> bool:
        """The numbers have been found when this is asked, and speak for the sentence too."""
        n_all = n_words + len(self._numbers)
        return n_words >= MIN_WORDS and (n_all - n_lost) / n_all < MIN_SHARE

    def _ordinary(self) -> Iterator[str]:
        for word in self._words:
            says_little = self._is_small(word) or self._is_counted(word) or is_unit(word.text)
            if len(word.text) > 2 and not says_little:
                yield word.text

    def _pairs(self) -> Iterator[str]:
        """Pairs of characters of a script without spaces; those of kana alone only join."""
        for run in _UNSPACED_RUN.finditer(self._text):
            text = folded(run.group())
            for at in range(len(text) - 1):
                if not _KANA.fullmatch(text[at : at + 2]):
                    yield text[at : at + 2]


def words_in(text: str) -> Iterator[Word]:
    """The words of scripts that write spaces."""
    for match in _WORD.finditer(text):
        begin = max(0, match.start() - _LOOK_BACK)
        before = text[begin : match.start()]
        opens = begin == 0 and not re.search(r"\w", before)
        yield Word(match.group(), opens or _STARTS.search(before) is not None)


def _uses(text: str) -> dict[str, bool]:
    """For each word that stands inside a sentence, whether it is always written large there."""
    found: dict[str, bool] = {}
    for word in words_in(text):
        if not word.starts:
            name = folded(word.text)
            found[name] = found.get(name, True) and word.is_large
    return found


def _is_longer(one: str, other: str) -> bool:
    """Whether one is the other with a short ending: "Roman" of "Roma", not of "Romance"."""
    return one.startswith(other) and len(one) - len(other) <= _MAX_ENDING


def _same_stem(one: str, other: str) -> bool:
    """Inflected forms of one word: the same beginning, and short endings."""
    n_common = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    longest = max(len(one), len(other)) - n_common
    return n_common >= _MIN_STEM and longest <= _MAX_ENDING and n_common > longest
