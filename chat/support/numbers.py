"""Numbers and months of a text, so that the same ones are equal however they are written.

"1,234.5", "1.234,5" and "1 234,5" are one number, and so are "1.2 million" and "1,200,000", or
"seven" and "7". A month is its number. What "1,234" means depends on the country: both readings
are kept.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path

from memory.service import folded

_DIGITS = r"\d+(?:[.,'’·]\d+|[ \u00a0\u202f]\d{3}(?!\d))*"
# Digits that belong to a word, such as "H2O", are no number.
_NUMBER = re.compile(rf"(?<![A-Za-z\u00c0-\u024f_\d]){_DIGITS}")
_SCALE = re.compile(r"[ \u00a0\u202f-]?([^\W\d_]+)\.?")
_SCALES_CJK = {"万": 4, "萬": 4, "만": 4, "億": 8, "亿": 8, "억": 8, "兆": 12, "조": 12, "千": 3}
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# Fewer than this many digits that count: only the very number will do.
_MIN_ROUNDED_DIGITS = 2
_MAX_DIGITS = 30
_MAX_READINGS = 4


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written at [start, end) and what it may mean."""

    start: int
    end: int
    raw: str
    values: frozenset[Decimal]


def numbers_in(text: str) -> list[Number]:
    """The numbers written in digits, in the order of the text."""
    found: list[Number] = []
    position = 0
    while match := _NUMBER.search(text, position):
        end, values = _scaled(text, match.end(), _readings(match.group()))
        before = found[-1] if found else None
        if before and before.end == match.start() and _goes_on(before, values):
            found.pop()
            values = {one + other for one, other in product(before.values, values)}
            start, raw = before.start, text[before.start : end]
        else:
            start, raw = match.start(), text[match.start() : end]
        found.append(Number(start, end, raw, frozenset(values)))
        position = end
    return found


def _goes_on(before: Number, values: set[Decimal]) -> bool:
    """Whether a number right behind another one belongs to it, as in "1億4960万"."""
    is_scaled = before.raw[-1] in _SCALES_CJK
    return is_scaled and len(before.values) * len(values) <= _MAX_READINGS


def _readings(raw: str) -> set[Decimal]:
    """What digits with signs between them may mean; each group alone for a date or a version."""
    raw = raw.replace(" ", "").replace("\u00a0", "").replace("\u202f", "")
    parts = re.split(r"[.,'’·]", raw)
    marks = re.findall(r"[.,'’·]", raw)
    plain = "".join(parts)
    if len(plain) > _MAX_DIGITS:
        return {Decimal(part[:_MAX_DIGITS]) for part in parts}
    if not marks:
        return {Decimal(plain)}
    grouped = all(len(part) == 3 for part in parts[1:]) and len(parts[0]) <= 3
    readings = set()
    if grouped and len(set(marks)) == 1:
        readings.add(Decimal(plain))
    one_point = marks[-1] in ".,·" and marks[-1] not in marks[:-1]
    inner = parts[1:-1]
    if one_point and len(set(marks[:-1])) <= 1 and all(len(part) == 3 for part in inner):
        readings.add(Decimal(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return readings or {Decimal(part) for part in parts}


def _scaled(text: str, end: int, values: set[Decimal]) -> tuple[int, set[Decimal]]:
    """The values times the words such as "million" that follow, and where these end."""
    while end < len(text) and text[end] in _SCALES_CJK:
        values = {value.scaleb(_SCALES_CJK[text[end]]) for value in values}
        end += 1
    while (match := _SCALE.match(text, end)) and (power := _power(folded(match[1]))):
        values = {value.scaleb(power) for value in values}
        end = match.end(1)
    return end, values


@cache
def _words() -> dict[str, dict[str, int]]:
    """For each section of the list its words, each with its number."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        section: {word: int(number) for number, words in rows.items() for word in words.split()}
        for section, rows in listed.items()
    }


@cache
def _power(word: str) -> int:
    known = _words()
    if word in known["scale"]:
        return known["scale"][word]
    beginnings = (n for start, n in known["scale_beginnings"].items() if word.startswith(start))
    return next(beginnings, 0)


_VAGUE = {100, 1000}


def number_word(word: str) -> int | None:
    """The number that a word means, such as "seven"; None for "one", which is often no number."""
    return _words()["number"].get(folded(word))


def exact_number(word: str, following: str) -> Decimal | None:
    """The same for a number that a sentence names exactly: "five", "five thousand", not
    "thousands"."""
    value = number_word(word)
    if value is None or value in _VAGUE:
        return None
    return Decimal(value).scaleb(_power(folded(following)))


# --- Months and days ----------------------------------------------------------------------------

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_JOINED = r"(?:st|nd|rd|th|er|º|ª|\.)?[ \u00a0]{0,2}(?:de |del |of )?"
_DAY_FIRST = re.compile(rf"(?<!\d)(?P<day>\d{{1,2}}){_JOINED}(?P<month>[^\W\d_]{{3,}})")
_MONTH_FIRST = re.compile(r"(?P<month>[^\W\d_]{3,})\.?[ \u00a0](?P<day>\d{1,2})(?!\d)")
_IN_DIGITS = re.compile(r"(?<!\d)\d{4}-(?P<month>\d{2})(?:-(?P<day>\d{2}))?(?!\d)")
_POINTED = re.compile(r"(?<!\d)(\d{1,2})([./])(\d{1,2})\2\d{2,4}(?!\d)")
_EASTERN = re.compile(r"(?P<month>\d{1,2}|[一二三四五六七八九十]{1,2})月(?:(?P<day>\d{1,2})日)?")
_WITH_YEAR = re.compile(r"(?P<month>[^\W\d_]{3,})\.?,?[ \u00a0](?:de |del )?\d{4}(?!\d)")


@dataclass(frozen=True, slots=True)
class Day:
    """A month, with the day in it where one is named: `raw` is what was written."""

    month: int
    day: int | None
    raw: str


def days_in(text: str, languages: Sequence[str]) -> list[Day]:
    """The dates of a text, without their years: a name such as "May" counts beside a number."""
    found = [
        Day(month, int(day) if (day := match.groupdict().get("day")) else None, match.group())
        for pattern in (_DAY_FIRST, _MONTH_FIRST, _WITH_YEAR, _IN_DIGITS, _EASTERN)
        for match in pattern.finditer(text)
        if (month := _month_number(match["month"], languages))
    ]
    for match in _POINTED.finditer(text):
        one, other = int(match[1]), int(match[3])
        pairs = {(one, other), (other, one)}
        found += [Day(month, day, match.group()) for day, month in pairs if 1 <= month <= 12]
    return found


def _month_number(written: str, languages: Sequence[str]) -> int | None:
    if written.isdecimal():
        return int(written) if 1 <= int(written) <= 12 else None
    if _KANJI.fullmatch(written):
        return _kanji_value(written)
    return month_of(written, languages)


def month_of(word: str, languages: Iterable[str]) -> int | None:
    """The number of the month that a word names in one of the languages."""
    word = folded(word.rstrip("."))
    return next((found for code in languages if (found := _months(code).get(word))), None)


@cache
def _months(language: str) -> dict[str, int]:
    """The names of the months as dateparser knows them, folded, with those in other cases."""
    try:
        data = import_module(f"dateparser.data.date_translation_data.{language}")
    except ModuleNotFoundError:
        return {}
    return {
        folded(name.rstrip(".")): number
        for number, month in enumerate(_MONTHS, start=1)
        for name in data.info.get(month, ())
    }


# --- A text's numbers as evidence ---------------------------------------------------------------


def values_of(text: str, languages: Sequence[str]) -> frozenset[Decimal]:
    """Every value that a text gives: numbers, words for numbers, and months."""
    found = {value for number in numbers_in(text) for value in _all_values(number)}
    for match in _WORD.finditer(text):
        for word in {match.group(), *match.group().split("-")}:
            for value in (number_word(word), month_of(word, languages)):
                if value is not None:
                    found.add(Decimal(value))
    found.update(Decimal(_kanji_value(match.group())) for match in _KANJI.finditer(text))
    return frozenset(found)


def _all_values(number: Number) -> Iterator[Decimal]:
    """What it means, and what its digits say by themselves: "3.11.2" also holds 3, 11 and 2."""
    yield from number.values
    if number.raw.count(".") > 1 or number.raw.count(",") > 1:
        yield from (Decimal(part[:_MAX_DIGITS]) for part in re.findall(r"\d+", number.raw))


_KANJI_DIGITS = {char: value for value, char in enumerate("〇一二三四五六七八九")}
_KANJI_TENS = {"十": 10, "百": 100, "千": 1000}
_KANJI = re.compile("[〇一二三四五六七八九十百千]{1,9}")


def _kanji_value(run: str) -> int:
    total, digit = 0, 0
    for char in run:
        if char in _KANJI_DIGITS:
            digit = digit * 10 + _KANJI_DIGITS[char]
        else:
            total += (digit or 1) * _KANJI_TENS[char]
            digit = 0
    return total + digit


def is_given(number: Number, evidence: Collection[Decimal]) -> bool:
    """Whether the evidence holds the number, or one that this is the rounded form of."""
    if any(value in evidence for value in number.values):
        return True
    return any(_rounds_to(other, value) for value in number.values for other in evidence)


def _rounds_to(exact: Decimal, rounded: Decimal) -> bool:
    """Whether `rounded` is `exact` to as many digits as it has, which are two at least; one will
    do for the whole part of a number with a point."""
    if not exact or not rounded:
        return False
    digits = len(rounded.normalize().as_tuple().digits)
    has_point = exact != exact.to_integral_value()
    if digits < _MIN_ROUNDED_DIGITS and not (has_point and rounded < 10 <= 10 * exact):
        return False
    if len(exact.normalize().as_tuple().digits) <= digits:
        return False
    step = Decimal(1).scaleb(rounded.adjusted() - digits + 1)
    return abs(exact - rounded) * 2 <= step
