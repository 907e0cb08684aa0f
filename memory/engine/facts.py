"""What people say of themselves: one value for each subject and attribute at a time.

"My editor is Vim", later "my editor is Helix": the later statement closes the earlier one's valid
time; both stay. Only plain statements in the first person are read, in English; what is not
understood is not touched, and a line that says more than the statement stays open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

_ATTRIBUTE = r"[a-z][\w'-]*(?: [\w'-]+){0,2}?"
_STATEMENTS = (
    re.compile(
        rf"\b(?:my|our) (?P<attribute>{_ATTRIBUTE}) (?:is|are|is called|is named|is now|are now"
        r"|has changed to|changed to) (?P<value>[^.!?\n]{1,60})",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?P<attribute>call) me (?P<value>[^.!?,\n]{1,40})", re.IGNORECASE),
    re.compile(
        r"\b(?:i|we) (?:now )?(?P<attribute>live in|work at|work for|moved to)"
        r" (?P<value>[^.!?\n]{1,50})",
        re.IGNORECASE,
    ),
)
_SAME = {"moved to": "live in", "work for": "work at"}
_LEAST_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Fact:
    """`row` holds the statement. It held from `valid_from` until `valid_to`; None is open."""

    subject: str
    attribute: str
    value: str
    row: int
    number: int
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: int | None = None


class Facts:
    """Facts in the order in which they were told."""

    def __init__(self, known: Iterable[Fact] = ()) -> None:
        """`known` are facts that hold, told before."""
        self._facts = list(known)
        self._current = {(f.subject, f.attribute): at for at, f in enumerate(self._facts)}

    def note(self, subject: str, text: str, row: int, at: datetime | None) -> int | None:
        """Take in a line of talk. Returns the row of the statement that it closes, if any."""
        told = read_statement(text)
        if told is None:
            return None
        attribute, value = told
        key = (subject, attribute)
        number = len(self._facts)
        self._facts.append(Fact(subject, attribute, value, row, number, valid_from=at))
        before = self._current.get(key)
        self._current[key] = number
        if before is None or _plain(self._facts[before].value) == _plain(value):
            return None
        old = self._facts[before]
        self._facts[before] = replace(old, valid_to=at, superseded_by=number)
        return old.row

    def as_of(self, moment: datetime | None = None) -> list[Fact]:
        """What held at a moment, or holds now: at most one value for subject and attribute."""
        if moment is None:
            return [self._facts[number] for number in self._current.values()]
        held: dict[tuple[str, str], Fact] = {}
        for fact in self._facts:
            begun = fact.valid_from is None or fact.valid_from <= moment
            if begun and (fact.valid_to is None or moment < fact.valid_to):
                held[fact.subject, fact.attribute] = fact
        return list(held.values())


def read_statement(text: str) -> tuple[str, str] | None:
    """The attribute and the value of a line that is a plain statement and little more."""
    for pattern in _STATEMENTS:
        match = pattern.search(text)
        if match and len(match[0]) >= _LEAST_SHARE * len(text.strip()):
            attribute = " ".join(match["attribute"].lower().split())
            return _SAME.get(attribute, attribute), match["value"].strip(" '\"“”")
    return None


def _plain(value: str) -> str:
    return " ".join(re.findall(r"\w+", value.casefold()))
