"""What a question asks for (a reason, a date, an amount …), and whether a sentence has that.

The patterns lie with the languages. A question is read in its own language, a sentence in its own.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache

from chat.providers.models.extractive.language import folded, language, stem, words

# In this order: "why … when" asks for a reason, "what is the height" for an amount.
_KINDS = ("reason", "colour", "time", "amount", "person", "place", "name", "meaning")
# Worth less than just what was asked for: a clause of time, a place without a name, a figure.
_IN_PART, _SOME_FIGURE, _A_FIGURE_AT_LEAST = 0.5, 0.7, 0.05
_NEVER = re.compile(r"(?!)")
_YEAR = r"\b1[0-9]{3}\b|\b20[0-9]{2}\b"
_DIGITS = r"\d+(?:[.,\u00a0\u202f ]\d{3}(?!\d))*(?:[.,]\d+)?"
_CAPITALISED = r"[A-ZÀ-ÞА-Я][\w’'-]+"
_PARTICLES = r"(?:\s(?:de|von|van|der|den|la|du|da|di|del|le|ibn|bin|af))*"
_NAME = re.compile(rf"{_CAPITALISED}(?:{_PARTICLES}\s(?:[A-ZÀ-ÞА-Я]\.\s)*{_CAPITALISED})+")


@dataclass(frozen=True, slots=True)
class Asked:
    """`kind` is one of reason, colour, time, amount, person, place, name, meaning, or empty.

    `units` names the kinds of unit that fit an amount, `counted` is the stem of what is counted.
    """

    kind: str = ""
    units: frozenset[str] = frozenset()
    counted: str = ""


def asked_by(question: str, code: str) -> Asked:
    text = folded(question)
    kind = next((kind for kind in _KINDS if _asking(kind, code).search(text)), "")
    if kind != "amount":
        return Asked(kind)
    units = language(code).section("units")
    asking = _asking(kind, code).search(text)
    phrase = asking.group() if asking else text
    for scope in (phrase, text):
        fitting = frozenset(unit for unit in units if _unit(unit, "asks", code).search(scope))
        if fitting:
            break
    return Asked(kind, fitting, _counted(text, code))


def fit(asked: Asked, sentence: str, code: str, known: Set[str]) -> float:
    """From 0, has nothing of the kind, to 1, has just that.

    `known` are the question's informative words: a name among them is no answer.
    """
    text = folded(sentence)
    if asked.kind == "amount":
        return _amount_fit(asked, text, code)
    if asked.kind == "time":
        if re.search(_YEAR, text) or _has(text, "date", code):
            return 1.0
        return _IN_PART * _has(text, "moment", code)
    if asked.kind in ("reason", "colour", "name"):
        return float(_has(text, asked.kind, code))
    if asked.kind == "person":
        return float(_has_new(_NAME, sentence, known) or _has(text, "person", code))
    if asked.kind == "place":
        return (
            1.0 if _has_new(_place(code), sentence, known) else _IN_PART * _has(text, "place", code)
        )
    return _defined_share(text, code, known) if asked.kind == "meaning" else 0.0


def opens_vaguely(sentence: str, code: str) -> bool:
    """Begins with a word that points back, so that it does not stand alone."""
    return bool(re.match(rf"\W*(?:{_showing('opens_vaguely', code).pattern})", folded(sentence)))


def speaks_of_the_asker(text: str, code: str) -> bool:
    mine = language(code).section("person").get("mine", "")
    return bool(mine) and re.search(_edged(str(mine), code), folded(text)) is not None


def is_negative(text: str, code: str) -> bool:
    return _has(folded(text), "negation", code)


@lru_cache(maxsize=256)
def _asking(kind: str, code: str) -> re.Pattern[str]:
    """A question word counts where it asks, not where it joins ("what happens when …")."""
    asks = language(code).section("asks")
    alternatives = []
    if kind in asks:
        joins = rf"|\b(?:{asks['joins']})\s+" if "joins" in asks else "|"
        alternatives.append(rf"(?:^\W*|[.?!,;:(¿¡]\s*{joins})(?:{asks[kind]}){_edge(code)}")
    anywhere = language(code).section("asks_anywhere").get(kind)
    if anywhere:
        alternatives.append(_edged(anywhere, code))
    return re.compile("|".join(alternatives)) if alternatives else _NEVER


@lru_cache(maxsize=256)
def _showing(kind: str, code: str) -> re.Pattern[str]:
    shown = language(code).section("shows").get(kind)
    return re.compile(_edged(shown, code)) if shown else _NEVER


@lru_cache(maxsize=256)
def _unit(unit: str, side: str, code: str) -> re.Pattern[str]:
    shown = language(code).section("units").get(unit, {}).get(side)
    before = r"(?<!\w)" if language(code).spaced else ""
    return re.compile(rf"{before}(?:{shown}){_edge(code)}") if shown else _NEVER


def _edged(pattern: str, code: str) -> str:
    return rf"{_edge(code)}(?:{pattern}){_edge(code)}"


def _edge(code: str) -> str:
    return r"\b" if language(code).spaced else ""


def _has(text: str, kind: str, code: str) -> bool:
    return _showing(kind, code).search(text) is not None


def _counted(text: str, code: str) -> str:
    asks = language(code).section("counts").get("asks")
    found = re.search(rf"\b(?:{asks})\s*([^\W\d_]+)", text) if asks else None
    return stem(found.group(1), code) if found else ""


def _amount_fit(asked: Asked, text: str, code: str) -> float:
    number = re.compile(rf"\d|{_showing('number', code).pattern}")
    if asked.counted and (distance := _distance(asked.counted, number, text, code)):
        return 1.05 - 0.05 * distance
    if any(_unit(unit, "shows", code).search(text) for unit in asked.units):
        return 1.0
    if not number.search(_without_dates(text, code)):
        return 0.0
    return _A_FIGURE_AT_LEAST if asked.counted or asked.units else _SOME_FIGURE


def _without_dates(text: str, code: str) -> str:
    months = _showing("date", code).pattern
    return re.sub(rf"(?:\d{{1,2}}\.?\s+(?:de\s+)?)?(?:{months})|{_YEAR}", " ", text)


def _distance(counted: str, number: re.Pattern[str], text: str, code: str) -> int:
    """How many words after a number what is counted stands: 1 to 4, or 0 if it does not."""
    found = [
        [stem(word, code) for word in words(text[match.end() : match.end() + 60])[:4]]
        for match in number.finditer(text)
    ]
    return min((after.index(counted) + 1 for after in found if counted in after), default=0)


@lru_cache(maxsize=32)
def _place(code: str) -> re.Pattern[str]:
    shown = language(code).section("shows").get("place")
    if not shown:
        return _NEVER
    if not language(code).spaced:
        return re.compile(shown)
    return re.compile(rf"\b(?i:{shown})\s+(?:[^\W\d_]{{1,4}}\s+|l[’'])?{_CAPITALISED}")


def _has_new(pattern: re.Pattern[str], sentence: str, known: Set[str]) -> bool:
    """Whether a match is not just the question's own name, with a title perhaps ("Don Quijote")."""
    for match in pattern.finditer(sentence):
        found = set(words(match.group()))
        if found.isdisjoint(known) or len(found - known) >= 2:
            return True
    return False


def _defined_share(text: str, code: str, known: Set[str]) -> float:
    """How much of what was asked about is its subject: "A byte is …" for "what is a byte?"."""
    verb = _showing("meaning", code).search(text[:100])
    if verb is None or not known:
        return 0.0
    return len(known & set(words(text[: verb.start()]))) / len(known)


def differing(one: str, other: str, code: str) -> bool:
    """Whether two sentences count or measure the same thing with different figures."""
    ours, theirs = _figures(one, code), _figures(other, code)
    return any(_are_apart(ours[unit], theirs[unit]) for unit in ours.keys() & theirs.keys())


def _figures(sentence: str, code: str) -> dict[str, set[str]]:
    """What is counted, as a stem, with the figures that stand before it. Dates are no figures."""
    text = _without_dates(folded(sentence), code)
    number = re.compile(rf"{_DIGITS}|{_showing('number', code).pattern}")
    found: dict[str, set[str]] = {}
    for match in number.finditer(text):
        for word in _words_after(match, text):
            found.setdefault(stem(word, code), set()).add(_plain(match.group()))
    return found


def _words_after(match: re.Match[str], text: str) -> list[str]:
    """The next two words, up to the next number: the second is what is counted, or the first."""
    following = re.split(r"[\d,.;:()]", text[match.end() : match.end() + 40])[0]
    return words(following)[:2]


def _plain(figure: str) -> str:
    grouped = re.sub(r"(?<=\d)[.,\s](?=\d{3}(?:\D|$))", "", figure)
    return grouped.replace(",", ".").strip()


def _are_apart(ours: set[str], theirs: set[str]) -> bool:
    """No figure of one is a figure of the other, or within two per cent of it."""
    return all(_is_apart(one, other) for one in ours for other in theirs)


def _is_apart(one: str, other: str) -> bool:
    if one[0].isdecimal() != other[0].isdecimal():
        return False
    if not one[0].isdecimal():
        return one != other
    a, b = float(one), float(other)
    return abs(a - b) > 0.02 * max(a, b)
