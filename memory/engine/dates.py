"""Relative dates resolved when they are written: "yesterday" is a lie a week later.

A phrase is resolved against the message's own time in the zone of that time, to an interval with
its precision: a day, the days of a week (Monday to Sunday), a month, a year. The phrase stays as it
was written; the calendar date is added behind it. Left alone: code, what is in quotation marks,
names such as `yesterday.js`, and everything in a message without a time. English, Spanish, German,
French, Italian and Portuguese; other languages are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

Precision = Literal["day", "days", "month", "year"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends included."""

    start: date
    end: date
    precision: Precision

    def __str__(self) -> str:
        if self.precision == "year":
            return f"{self.start.year:04}"
        if self.precision == "month":
            return f"{self.start:%Y-%m}"
        if self.start == self.end:
            return self.start.isoformat()
        return f"{self.start.isoformat()}…{self.end.isoformat()}"


@dataclass(frozen=True, slots=True)
class Dated:
    """A phrase at [start, end) of a text and what it means."""

    start: int
    end: int
    when: Interval


def find_dates(text: str, at: datetime | None) -> list[Dated]:
    """The relative dates of a text written at a time, in order, without overlap."""
    if at is None:
        return []
    text = text.translate(_LOOKALIKES)
    if not _may_speak_of_dates(text):
        return []
    today = at.date()
    found = []
    for match in _phrases(text):
        when = None if _is_left_alone(text, match) else _resolve(match, today, at)
        if when is not None:
            found.append(Dated(match.start(), match.end(), when))
    return found


def annotate(text: str, dates: Sequence[Dated]) -> str:
    """The text with every date behind its phrase, in square brackets."""
    parts = []
    position = 0
    for dated in dates:
        label = f" [{dated.when}]"
        parts.append(text[position : dated.end])
        if not text.startswith(label, dated.end):
            parts.append(label)
        position = dated.end
    return "".join([*parts, text[position:]])


# Letters that a pattern takes for those of the words below where case counts for nothing.
_LOOKALIKES = str.maketrans({"ſ": "s", "ı": "i", "İ": "I"})

# --- What is left alone --------------------------------------------------------------------------

_QUOTED = re.compile(
    r"\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|«[^»\n]{1,80}»|„[^“”\n]{1,80}[“”]|`[^`\n]+`"
)
_ATTACHED_AFTER = re.compile(r"[(_/\\=@]|[.:-]\w|['’]s?\s+(?:[A-Z]\w+\s*){2,}")
_DATED_ALREADY = re.compile(r" \[\d{4}(?:-\d\d){0,2}")


def _is_left_alone(text: str, match: re.Match[str]) -> bool:
    before = text[match.start() - 1 : match.start()] if match.start() else ""
    if (before and before in "._:/\\-=@$#'’") or _ATTACHED_AFTER.match(text, match.end()):
        return True
    if _DATED_ALREADY.match(text, match.end()):
        return True
    return any(
        quoted.start() < match.start() and match.end() < quoted.end()
        for quoted in _QUOTED.finditer(text)
    )


# --- The words -----------------------------------------------------------------------------------

_DAYS: dict[str, int] = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1,
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "the day after tomorrow": 2, "day after tomorrow": 2, "tomorrow": 1,
    "anteayer": -2, "antes de ayer": -2, "ayer": -1, "anoche": -1, "hoy": 0,
    "pasado mañana": 2, "mañana": 1,
    "vorgestern": -2, "gestern": -1, "heute": 0, "übermorgen": 2, "morgen": 1,
    "avant-hier": -2, "hier": -1, "aujourd'hui": 0, "aujourd’hui": 0,
    "après-demain": 2, "demain": 1,
    "l'altro ieri": -2, "l’altro ieri": -2, "ieri": -1, "oggi": 0, "dopodomani": 2, "domani": 1,
    "anteontem": -2, "ontem": -1, "hoje": 0, "depois de amanhã": 2, "amanhã": 1,
}  # fmt: skip
_NUMBERS: dict[str, int] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "couple of": 2,
    "un": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7,
    "ocho": 8, "nueve": 9, "diez": 10,
    "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7,
    "acht": 8, "neun": 9, "zehn": 10,
    "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "neuf": 9,
    "dix": 10, "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "sei": 6, "sette": 7, "otto": 8,
    "nove": 9, "dieci": 10, "um": 1, "uma": 1, "dois": 2, "duas": 2, "três": 3, "quatro": 4,
    "sete": 7, "oito": 8, "dez": 10,
}  # fmt: skip
_VAGUE: dict[str, tuple[int, int]] = {
    "a few": (2, 5), "few": (2, 5), "several": (3, 7), "unos pocos": (2, 5), "varios": (3, 7),
    "ein paar": (2, 5), "einigen": (2, 5), "quelques": (2, 5), "alcuni": (2, 5), "alguns": (2, 5),
}  # fmt: skip
_UNITS: dict[str, str] = {
    "hour": "hour", "hours": "hour", "day": "day", "days": "day", "week": "week", "weeks": "week",
    "month": "month", "months": "month", "year": "year", "years": "year",
    "hora": "hour", "horas": "hour", "día": "day", "días": "day", "semana": "week",
    "semanas": "week", "mes": "month", "meses": "month", "año": "year", "años": "year",
    "stunde": "hour", "stunden": "hour", "tag": "day", "tagen": "day", "woche": "week",
    "wochen": "week", "monat": "month", "monaten": "month", "jahr": "year", "jahren": "year",
    "heure": "hour", "heures": "hour", "jour": "day", "jours": "day", "semaine": "week",
    "semaines": "week", "mois": "month", "an": "year", "ans": "year",
    "ora": "hour", "ore": "hour", "giorno": "day", "giorni": "day", "settimana": "week",
    "settimane": "week", "mese": "month", "mesi": "month", "anno": "year", "anni": "year",
    "dia": "day", "dias": "day", "mês": "month", "ano": "year", "anos": "year",
}  # fmt: skip
_WEEKDAYS: dict[str, int] = {
    name: number
    for names in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "lunes martes miércoles jueves viernes sábado domingo",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    )
    for number, name in enumerate(names.split())
}
_WHICH: dict[str, int] = {
    "last": -1, "past": -1, "previous": -1, "this": 0, "this past": -1, "this coming": 1, "next": 1,
    "coming": 1, "letzten": -1, "letzte": -1, "letztes": -1, "letzter": -1, "vorige": -1,
    "voriges": -1, "vorigen": -1, "diese": 0, "diesen": 0, "dieses": 0, "nächste": 1,
    "nächsten": 1, "nächstes": 1, "kommende": 1, "kommenden": 1, "kommendes": 1,
    "este": 0, "esta": 0, "próximo": 1, "próxima": 1, "cette": 0, "ce": 0, "questa": 0,
    "prossima": 1, "prossimo": 1, "scorsa": -1, "scorso": -1,
}  # fmt: skip
_WHICH_AFTER: dict[str, int] = {
    "pasado": -1, "pasada": -1, "próximo": 1, "próxima": 1, "que viene": 1, "dernier": -1,
    "dernière": -1, "prochain": 1, "prochaine": 1, "scorso": -1, "scorsa": -1, "prossimo": 1,
    "prossima": 1, "passado": -1, "passada": -1, "que vem": 1,
}  # fmt: skip
# Without "an": beside "this" or "last" it is the English article, not the French year.
_SPANS = {word: unit for word, unit in _UNITS.items() if unit != "hour" and word != "an"}
_SPANS["weekend"] = "weekend"


def _any(words: dict[str, int] | dict[str, str] | dict[str, tuple[int, int]]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_COUNT = rf"\d{{1,3}}|{_any(_NUMBERS)}|{_any(_VAGUE)}"
_UNIT = _any(_UNITS)
_PHRASES = re.compile(
    rf"""\b(?:
      (?P<ago>(?P<ago_n>{_COUNT})\s(?P<ago_unit>{_UNIT})\s(?:ago|fa|atrás))
    | (?P<since>(?:hace|vor|il\sy\sa|há)\s(?P<since_n>{_COUNT})\s(?P<since_unit>{_UNIT}))
    | (?P<ahead>(?:in|en|dentro\sde|dans|tra|fra|daqui\sa)
        \s(?P<ahead_n>{_COUNT})\s(?P<ahead_unit>{_UNIT})(?:['’]\stime)?)
    | (?P<day>{_any(_DAYS)})
    | (?P<which>{_any(_WHICH)})\s(?P<which_what>{_any(_WEEKDAYS)}|{_any(_SPANS)})
    | (?:el\s|la\s|le\s)?(?P<after_what>{_any(_WEEKDAYS)}|{_any(_SPANS)})
        \s(?P<after>{_any(_WHICH_AFTER)})
    | (?P<toward>by|until|till|before|bis|hasta\sel|avant)\s(?P<toward_day>{_any(_WEEKDAYS)})
    | (?P<on>on|am)\s(?P<on_day>{_any(_WEEKDAYS)})
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LETTERS = re.compile(r"[^\W\d_]+")
_DAY_WORDS = [frozenset(_LETTERS.findall(phrase)) for phrase in _DAYS]
_ENOUGH = {word for words in _DAY_WORDS if len(words) == 1 for word in words} | set(_WEEKDAYS)
_TOGETHER = [words for words in _DAY_WORDS if len(words) > 1 and words.isdisjoint(_ENOUGH)]
_BESIDE_UNITS = {"ago", "fa", "atrás", "hace", "vor", "il", "há", "in", "en", "dentro", "dans"}
_BESIDE_UNITS |= {"tra", "fra", "daqui"}
_BESIDE_UNITS |= {_LETTERS.findall(which)[-1] for which in (*_WHICH, *_WHICH_AFTER)}
_BESIDE_AN = {"dans", "il"}
_LENGTHS = {*_UNITS, *_SPANS}


def _may_speak_of_dates(text: str) -> bool:
    """Whether a text has the words that no phrase is without: most have not, and this is cheap."""
    words = set(_LETTERS.findall(text.lower()))
    if not words.isdisjoint(_ENOUGH):
        return True
    units = words & _LENGTHS
    if units and not words.isdisjoint(_BESIDE_AN if units == {"an"} else _BESIDE_UNITS):
        return True
    return any(phrase <= words for phrase in _TOGETHER)


_RUN = re.compile(r"\w+")
_FIRST = {
    _RUN.findall(phrase)[0]
    for phrases in (_NUMBERS, _VAGUE, _DAYS, _WHICH, _WEEKDAYS, _SPANS)
    for phrase in phrases
}
_FIRST |= _BESIDE_UNITS | {"el", "la", "le", "by", "until", "till", "before", "bis", "hasta"}
_FIRST |= {"avant", "on", "am"}
_MOST_DIGITS = 3


def _phrases(text: str) -> Iterator[re.Match[str]]:
    """The phrases of a text, without overlap: looked for where a word stands that can begin one."""
    position = 0
    for run in _RUN.finditer(text):
        word = run[0].lower()
        begins = word in _FIRST or (len(word) <= _MOST_DIGITS and word.isdigit())
        if begins and run.start() >= position:
            match = _PHRASES.match(text, run.start())
            if match:
                position = match.end()
                yield match


# "por la mañana" and "am Morgen" are the morning; "cada mañana" is every day.
_MORNING = re.compile(
    r"(?:\b(?:la|cada|esta|de|una|am|guten|jeden|heute|gestern|diesen|buona?|que)\s)$",
    re.IGNORECASE,
)


# --- What they mean ------------------------------------------------------------------------------


def _resolve(match: re.Match[str], today: date, at: datetime) -> Interval | None:
    """None where the words mean no date, or one that no calendar has."""
    try:
        return _meant(match, today, at)
    except (OverflowError, ValueError):
        return None


def _meant(match: re.Match[str], today: date, at: datetime) -> Interval | None:
    if match["ago"]:
        return _counted(match["ago_n"], match["ago_unit"], -1, today, at)
    if match["since"]:
        return _counted(match["since_n"], match["since_unit"], -1, today, at)
    if match["ahead"]:
        return _counted(match["ahead_n"], match["ahead_unit"], 1, today, at)
    if match["day"]:
        return _named_day(match, today)
    if match["which"]:
        return _which(match["which_what"], _WHICH[match["which"].lower()], today)
    if match["after"]:
        return _which(match["after_what"], _WHICH_AFTER[match["after"].lower()], today)
    if match["toward"]:
        weekday = _WEEKDAYS[match["toward_day"].lower()]
        return _day(today + timedelta(days=(weekday - today.weekday()) % 7 or 7))
    weekday = _WEEKDAYS[match["on_day"].lower()]
    return _day(today - timedelta(days=(today.weekday() - weekday) % 7))


def _named_day(match: re.Match[str], today: date) -> Interval | None:
    word = match["day"].lower()
    before = match.string[max(0, match.start() - 10) : match.start()]
    if word in ("mañana", "morgen", "domani") and _MORNING.search(before):
        return None
    if word == "morgen" and match["day"] != "morgen":
        return None  # a German noun, the morning; at the head of a sentence it is left alone too
    if word == "hier" and re.search(r"[äöüß]|\b(?:ist|sind|der|die|das|und|nicht)\b", match.string):
        return None  # German "here"
    return _day(today + timedelta(days=_DAYS[word]))


def _counted(count: str, unit: str, sign: int, today: date, at: datetime) -> Interval | None:
    kind = _UNITS[unit.lower()]
    vague = _VAGUE.get(count.lower())
    if vague:
        far, near = (_moved(today, kind, sign * n) for n in (vague[1], vague[0]))
        first, last = min(far, near), max(far, near)
        return Interval(first, last, "days")
    n = sign * (int(count) if count.isdigit() else _NUMBERS[count.lower()])
    if kind == "hour":
        return _day((at + timedelta(hours=n)).date())
    moved = _moved(today, kind, n)
    return _around(moved, kind)


def _around(day: date, kind: str) -> Interval:
    if kind == "week":
        monday = day - timedelta(days=day.weekday())
        return Interval(monday, monday + timedelta(days=6), "days")
    if kind == "month":
        return Interval(day.replace(day=1), _month_end(day), "month")
    if kind == "year":
        return Interval(date(day.year, 1, 1), date(day.year, 12, 31), "year")
    if kind == "weekend":
        saturday = day + timedelta(days=5 - day.weekday())
        return Interval(saturday, saturday + timedelta(days=1), "days")
    return _day(day)


def _moved(day: date, kind: str, n: int) -> date:
    if kind in ("week", "weekend"):
        return day + timedelta(weeks=n)
    if kind == "month":
        months = day.year * 12 + day.month - 1 + n
        first = date(months // 12, months % 12 + 1, 1)
        return first.replace(day=min(day.day, _month_end(first).day))
    if kind == "year":
        return date(day.year + n, day.month, min(day.day, 28 if day.month == 2 else day.day))
    return day + timedelta(days=n)


def _month_end(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _which(what: str, which: int, today: date) -> Interval | None:
    name = what.lower()
    if name in _WEEKDAYS:
        return _day(_weekday(_WEEKDAYS[name], which, today))
    kind = _SPANS[name]
    if kind == "day":
        return None
    if kind == "weekend" and which < 0:
        return _around(today - timedelta(days=7), "weekend")
    return _around(_moved(today, kind, which), kind)


def _weekday(weekday: int, which: int, today: date) -> date:
    """ "last Friday" is the one before today, "this Friday" the one from today on, "next Monday"
    the one of next week."""
    if which < 0:
        return today - timedelta(days=(today.weekday() - weekday) % 7 or 7)
    if which == 0:
        return today + timedelta(days=(weekday - today.weekday()) % 7)
    return today - timedelta(days=today.weekday()) + timedelta(days=7 + weekday)


def _day(day: date) -> Interval:
    return Interval(day, day, "day")
