"""A summary without a model: sentences of the originals, weighed by what is rare and named in them.

A sentence weighs what its terms are worth by their rarity in this span, for its length; more with
numbers, dates and names in it, as a person's own words, as a decision, as an answer's beginning.
Questions stay only while they are open: asked by the user, and answered by nothing or by "not
found".
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory.engine.dates import annotate, find_dates
from memory.engine.facts import Facts, read_statement
from memory.engine.index import idf
from memory.engine.sentences import sentences
from memory.engine.summaries import (
    Item,
    Kind,
    MayKeep,
    Summary,
    addresses_of,
    in_parts,
    item_of,
    limit_tokens,
    parts_of,
    speaker_of,
    summary_of,
    without_numbers,
)
from memory.engine.terms import exact_terms
from memory.engine.tokens import CountTokens
from memory.engine.values import Message

_CUES = Path(__file__).with_name("summary_cues.toml")
_LONGEST_CHARS, _FEWEST_TERMS = 340, 3
_EVEN_LENGTH = 6
_LEAST_PLAIN = 0.6
_SHORT_CHARS = 200
_NUMBER = re.compile(r"\d")
_NAMED = re.compile(r"(?<=[\w,;:] )(?:[A-ZÀ-ÖØ-ÞА-ЯΑ-Ω]\w+|\w*[a-z][A-Z_]\w*)")
_PLAIN = re.compile(r"\W*[^\W\d_]+(?:[^\w\s][^\W\d_]+)*\W*")
_ASKS = re.compile(r"[?？؟]\W*$")
_ANSWER_BEGINS = 300
_FOR_NUMBER, _FOR_NAME, _FOR_STATEMENT, _FOR_CODE, _FOR_LENGTH = 1.2, 1.25, 1.3, 0.4, 0.6
_FOR_DECISION, _FOR_FIRST, _FOR_OPEN = 1.5, 1.3, 1.2


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence and where it stands: in which message, and the how-manieth it is."""

    message: int
    number: int
    text: str
    terms: frozenset[str]


@cache
def cues(section: str) -> tuple[re.Pattern[str], ...]:
    told = tomllib.loads(_CUES.read_text(encoding="utf-8"))[section]
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in told.values())


def _has_cue(section: str, text: str) -> bool:
    return any(cue.search(text) for cue in cues(section))


class Weights:
    """What words are worth in one span: how rare they are among its sentences."""

    def __init__(self, said: Sequence[_Said]) -> None:
        self._n = len(said)
        self._df = Counter(term for one in said for term in one.terms)

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Weights:
        return cls(list(_said(messages)))

    def idf(self, term: str) -> float:
        return idf(self._n, self._df.get(term, 0))

    def of_terms(self, terms: frozenset[str]) -> float:
        """The worth of a sentence's terms for its length."""
        return sum(map(self.idf, sorted(terms))) / (len(terms) + _EVEN_LENGTH)


def extractive_summary(
    messages: Sequence[Message], most_tokens: int, count: CountTokens, may_keep: MayKeep
) -> Summary:
    """The most telling sentences of a span, and its sources."""
    n_tokens = sum(count(message.text) for message in messages if message.role != "tool")
    limit = limit_tokens(len(messages), n_tokens, most_tokens)
    items = in_parts(extracted(messages), parts_of(messages, count))
    return summary_of(items, addresses_of(messages), limit, count, may_keep)


def extracted(messages: Sequence[Message]) -> list[Item]:
    """Every sentence of the talk that may become a line, with its weight, in order."""
    said = list(_said(messages))
    weights = Weights(said)
    gone = _closed(messages, said)
    items = []
    for number, one in enumerate(said):
        kind = None if number in gone else _kind(messages, one)
        if kind is not None:
            message = messages[one.message]
            weight = weights.of_terms(one.terms) * _factor(message, one, kind)
            place = (one.message, one.number)
            text = _dated(one.text, message)
            items.append(item_of(message, kind, text, place, weight))
    return items


def _said(messages: Sequence[Message]) -> Iterator[_Said]:
    for number, message in enumerate(messages):
        if message.role == "tool":
            continue
        for place, sentence in enumerate(sentences(message.text)):
            text = without_numbers(sentence)
            terms = frozenset(exact_terms(text))
            if len(terms) >= _FEWEST_TERMS and len(text) <= _LONGEST_CHARS:
                yield _Said(number, place, text, terms)


def _closed(messages: Sequence[Message], said: Sequence[_Said]) -> set[int]:
    """Statements that a later one took the place of ("my editor is …")."""
    facts = Facts()
    closed = set()
    for number, one in enumerate(said):
        message = messages[one.message]
        if message.role == "user":
            before = facts.note(speaker_of(message), one.text, number, message.at)
            closed |= set() if before is None else {before}
    return closed


def _kind(messages: Sequence[Message], one: _Said) -> Kind | None:
    """What a sentence is; None for what was asked and answered, and for an answer's questions."""
    by_user = messages[one.message].role == "user"
    if _ASKS.search(one.text) or (by_user and _has_cue("request", one.text)):
        return "question" if by_user and _is_open(messages, one.message) else None
    return "decision" if by_user and _has_cue("decision", one.text) else "fact"


def _is_open(messages: Sequence[Message], number: int) -> bool:
    """Whether nothing was answered before the next question, or the answer says it has none. What
    the span's last message asks may be answered after it: it counts only where it is all there is.
    """
    after = next((one for one in messages[number + 1 :] if one.text.strip()), None)
    if after is None:
        return not any(one.text.strip() for one in messages[:number])
    if after.role == "user":
        return True
    return _has_cue("no_answer", after.text[:_ANSWER_BEGINS])


def _factor(message: Message, one: _Said, kind: Kind) -> float:
    factor = _FOR_NUMBER if _NUMBER.search(one.text) else 1.0
    factor *= _FOR_NAME if _NAMED.search(one.text) else 1.0
    factor *= 1.0 if _is_prose(one.text) else _FOR_CODE
    factor *= 1.0 if len(one.text) <= _SHORT_CHARS else _FOR_LENGTH
    if message.role == "user":
        factor *= _FOR_STATEMENT if read_statement(one.text) else 1.0
    elif one.number == 0:
        factor *= _FOR_FIRST
    return factor * {"decision": _FOR_DECISION, "question": _FOR_OPEN, "fact": 1.0}[kind]


def _is_prose(text: str) -> bool:
    """Whether a text is words in the main, and not a call, a list of names or a table of values."""
    words = text.split()
    return sum(_PLAIN.fullmatch(word) is not None for word in words) >= _LEAST_PLAIN * len(words)


def _dated(text: str, message: Message) -> str:
    """The sentence with the calendar dates of what it calls yesterday or next week."""
    dates = find_dates(text, message.at) if message.at else []
    return annotate(text, dates) if dates else text
