"""The live question as it is searched for: its terms, and those of the turn it leans on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memory.engine.asking import leans_on_talk
from memory.engine.code_words import code_words
from memory.engine.dates import find_dates
from memory.engine.history import History

_INFORMATIVE_IDF = 1.5
_LAST_CHARS = 600
_FEW_WORDS = 6
_LONGEST_DAYS = 31
_KEYWORD_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class Asked:
    """`terms` with their weights; `text` is what is encoded. `alone` are terms that count in a line
    itself more than round it."""

    text: str
    terms: Mapping[str, float]
    alone: Mapping[str, float] = field(default_factory=dict)


def ask(history: History, question: str, now: datetime | None = None) -> Asked:
    """A question that cannot stand alone ("where does she live?", "the second one") is searched
    for together with the turn before it, which counts less. "Yesterday" is searched for by its
    date, where it is known when the question is asked, and a "function" by what code calls it."""
    terms: dict[str, float] = dict(Counter(history.terms(question)))
    terms |= dict.fromkeys(_days(question, now), 1.0)
    keywords = code_words(terms) if history.plan.keyword and history.layout.has_output else []
    history.read_terms([*terms, *keywords])
    keywords = [word for word in keywords if _is_of_code(history, word)]
    alone = dict.fromkeys(keywords, history.plan.keyword)
    near = dict.fromkeys(keywords, history.plan.keyword_near)
    points = len(question.split()) <= _FEW_WORDS and leans_on_talk(question)
    if not history.plan.follow_up or not (points or _says_nothing(history, terms)):
        return Asked(question, terms | near, alone)
    before = " ".join(history.last_talk())[-_LAST_CHARS:]
    for term in set(history.terms(before)) - set(terms):
        terms[term] = history.plan.follow_up
    return Asked(f"{before} {question}" if before else question, near | terms, alone)


def _days(question: str, now: datetime | None) -> list[str]:
    """The days that a question speaks of, as messages carry them; of a year only its number."""
    days = []
    for dated in find_dates(question, now):
        length = (dated.when.end - dated.when.start).days
        if length > _LONGEST_DAYS:
            days.append(f"{dated.when.start.year:04}")
        else:
            days += [str(dated.when.start + timedelta(days=n)) for n in range(length + 1)]
    return days


def _is_of_code(history: History, keyword: str) -> bool:
    """Whether so many lines have a keyword that it is one here: prose has "fun" and "raise", too,
    but seldom."""
    n_lines = history.layout.n_lines
    return history.index.df(keyword) >= max(1.0, _KEYWORD_SHARE * n_lines)


def _says_nothing(history: History, terms: Mapping[str, float]) -> bool:
    """Whether no term of the question tells one line of the history from another. A term that the
    history has not may say what its lines say in other words."""
    index = history.index
    return all(index.has(term) and index.idf(term) < _INFORMATIVE_IDF for term in terms)
