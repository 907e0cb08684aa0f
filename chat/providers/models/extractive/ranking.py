"""Which sentences answer a question, best first.

A sentence scores by the share of the question's informative terms that it holds, each weighted by
its IDF over the sentences at hand; what the heading, the title or the sentences around it hold
counts in part. A sentence that has what is asked for (a date, a reason …) is raised.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from chat.providers.models.extractive.language import (
    informative_terms,
    informative_words,
    language,
    language_of,
    measure_terms,
)
from chat.providers.models.extractive.passages import Candidate
from chat.providers.models.extractive.questions import (
    Asked,
    asked_by,
    fit,
    is_negative,
    opens_vaguely,
    speaks_of_the_asker,
)

# How much a term counts that is not in the sentence itself. These weights and those below are
# bets; the questions of the tests measure them.
_IN_TITLE, _BEFORE, _IN_PASSAGE = 0.6, 0.4, 0.3
_AKIN = 0.6
_BACKGROUND = 0.6
# By what is asked for: the gain of having it, and what is left of a sentence without it.
_FITNESS = {"meaning": (0.2, 0.95), "place": (0.6, 0.8)}
_DEFAULT_FITNESS = (0.6, 0.75)
_NEARLY_ALL = 0.85
_OTHER_LANGUAGE, _NAMELESS, _VAGUE, _FRAGMENT = 0.5, 0.8, 0.9, 0.6
# Only to decide between near equals: shorter, first in its passage, says what is so and not what
# is not, begins with what was asked about.
_PER_TERM, _FIRST, _NEGATIVE, _OPENING = 0.001, 0.005, 0.97, 0.02
_ENDS = re.compile(r"[.!?…。！？؟।][\"'”’»›)\]」』）]*$")


@dataclass(frozen=True)
class Question:
    """`background` is the earlier question that a short one points back to, or empty."""

    text: str
    background: str = ""

    @cached_property
    def language(self) -> str:
        return language_of(self.text, language_of(self.background))

    @cached_property
    def asked(self) -> Asked:
        own = asked_by(self.text, self.language)
        return own if own.kind or not self.background else asked_by(self.background, self.language)

    @cached_property
    def is_negative(self) -> bool:
        return is_negative(self.text, self.language)

    @cached_property
    def is_personal(self) -> bool:
        """Whether it is about the one who asks, or goes back to something that is."""
        return speaks_of_the_asker(f"{self.text} {self.background}", self.language)

    @cached_property
    def words(self) -> frozenset[str]:
        return informative_words(f"{self.text} {self.background}", self.language)

    def weights(self, as_language: str) -> dict[str, float]:
        own = informative_terms(self.text, self.language, as_language)
        earlier = informative_terms(self.background, self.language, as_language)
        return {term: _BACKGROUND * weight for term, weight in earlier.items()} | own


@dataclass(frozen=True, slots=True)
class Scored:
    """`coverage` is the share of the question that the sentence and what is around it hold.

    `matched` are the question's terms in the sentence itself. `has_names`: the names of the
    question are in it or right beside it. `fitness`, from 0 to 1, says how far it has what is
    asked for; `has_kind`, whether it has a date or an amount where that is asked for.
    """

    candidate: Candidate
    score: float
    coverage: float
    matched: frozenset[str]
    has_names: bool
    fitness: float
    has_kind: bool


def rank(question: Question, pool: Sequence[Candidate]) -> list[Scored]:
    """All candidates by falling score; ties in the order in which they came."""
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in pool:
        groups[candidate.language].append(candidate)
    scored = {
        id(found.candidate): found
        for code, group in groups.items()
        for found in _Ranking(question, group, code).scored()
    }
    return sorted((scored[id(one)] for one in pool), key=lambda found: -found.score)


class _Ranking:
    """Scores the candidates of one language."""

    def __init__(self, question: Question, group: Sequence[Candidate], code: str) -> None:
        self.question, self.group = question, group
        wanted = question.weights(code)
        vocabulary = {term for one in group for term in one.terms | one.context}
        near = code if code == question.language else ""
        self.likeness = {term: alike(term, vocabulary, near) for term in wanted}
        present = {term: weight for term, weight in wanted.items() if self.likeness[term]}
        self.measures = measure_terms(question.text, question.language, code)
        missing = wanted.keys() - present.keys() - self.measures
        n_present = sum(present.values())
        self.known_share = n_present / (n_present + sum(wanted[term] for term in missing) or 1)
        self.weights = self._weighted(present)
        self.names = {term for term, weight in wanted.items() if weight > 1}
        self.in_passage: dict[int, frozenset[str]] = defaultdict(frozenset)
        for one in group:
            self.in_passage[id(one.passage)] |= one.terms

    def scored(self) -> list[Scored]:
        befores = [None, *self.group]
        return [
            self._score(one, before if before and before.passage is one.passage else None)
            for before, one in zip(befores, self.group, strict=False)
        ]

    def _weighted(self, present: Mapping[str, float]) -> dict[str, float]:
        """A measure is no subject: however rare it is, it gets the lowest IDF of all."""
        idf = {term: self._idf(term) for term in present}
        lowest = min(idf.values(), default=0.0)
        return {
            term: weight * (lowest if term in self.measures else idf[term])
            for term, weight in present.items()
        }

    def _idf(self, term: str) -> float:
        df = sum(1 for one in self.group if self._strength(term, one.terms))
        return math.log(1 + (len(self.group) - df + 0.5) / (df + 0.5))

    def _strength(self, term: str, held: frozenset[str]) -> float:
        likeness = self.likeness[term]
        return max((likeness[other] for other in likeness.keys() & held), default=0.0)

    def _score(self, one: Candidate, before: Candidate | None) -> Scored:
        held = {term: self._held(term, one, before) for term in self.weights}
        fitness = fit(self.question.asked, one.text, one.language, self.question.words)
        total = sum(self.weights.values())
        share = sum(self.weights[term] * held[term] for term in held) / total if total else 0.0
        coverage = share * self.known_share
        has_names = all(self._is_near(name, one, before) for name in self.names)
        score = coverage * self._suits(fitness) * self._stands(one) * self._opens_with_it(one)
        return Scored(
            one,
            score if has_names else score * _NAMELESS,
            coverage,
            frozenset(term for term in held if self._strength(term, one.terms)),
            has_names,
            fitness,
            self._has_kind(fitness, coverage),
        )

    def _has_kind(self, fitness: float, coverage: float) -> bool:
        """An amount is plain to see; a time can be told in words that we do not know."""
        kind = self.question.asked.kind
        return (
            fitness > 0
            or kind not in {"time", "amount"}
            or (kind == "time" and coverage >= _NEARLY_ALL)
        )

    def _is_near(self, term: str, one: Candidate, before: Candidate | None) -> bool:
        near = one.terms | one.context | (before.terms if before else frozenset())
        return self._strength(term, near) > 0

    def _held(self, term: str, one: Candidate, before: Candidate | None) -> float:
        return max(
            self._strength(term, one.terms),
            _IN_TITLE * self._strength(term, one.context),
            _BEFORE * self._strength(term, before.terms) if before else 0.0,
            _IN_PASSAGE * self._strength(term, self.in_passage[id(one.passage)]),
        )

    def _suits(self, fitness: float) -> float:
        kind = self.question.asked.kind
        if not kind:
            return 1.0
        gain, left = _FITNESS.get(kind, _DEFAULT_FITNESS)
        return 1 + gain * fitness if fitness else left

    def _stands(self, one: Candidate) -> float:
        factor = 1.0 if one.language == self.question.language else _OTHER_LANGUAGE
        factor *= _VAGUE if opens_vaguely(one.text, one.language) else 1.0
        if is_negative(one.text, one.language) and not self.question.is_negative:
            factor *= _NEGATIVE
        factor *= 1.0 if _ENDS.search(one.text) else _FRAGMENT
        shortness = 1 - _PER_TERM * min(len(one.terms), 100)
        return factor * shortness * (1 if one.position else 1 + _FIRST)

    def _opens_with_it(self, one: Candidate) -> float:
        opening = frozenset(one.first_terms)
        return 1 + _OPENING * any(self._strength(term, opening) for term in self.weights)


def alike(term: str, vocabulary: Iterable[str], code: str) -> Mapping[str, float]:
    """The words that are the term, its beginning, a longer form of it, or a compound with it.

    Without a language only the term itself.
    """
    if not code:
        return {other: 1.0 for other in vocabulary if other == term}
    shortest_part = 4 if language(code).compounds else 5
    found = {}
    for other in vocabulary:
        short, long = sorted((term, other), key=len)
        if term == other:
            found[other] = 1.0
        elif term.isalpha() and (
            (len(short) >= 4 and long.startswith(short))
            or (len(short) >= shortest_part and short in long)
        ):
            found[other] = _AKIN
    return found
