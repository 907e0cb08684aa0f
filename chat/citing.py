"""Which passage each claim of an answer rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chat.agent.citations import best_passage
from chat.agent.values import Source, Span
from chat.answer_text import Mark
from chat.rendering import read_citations


@dataclass(frozen=True, slots=True)
class FoundCitation:
    """A claim, as a span of the answer, and what it rests on: the source's number and the index
    among its passages (None when it has none). `problem` says what is missing there, if anything
    is."""

    number: int
    span: Span
    passage: int | None
    problem: str = ""


def citations_of(
    text: str, sources: Sequence[Source], marks: Iterable[Mark] = ()
) -> tuple[list[FoundCitation], int]:
    """The citations of an answer in the order of its text, and how many stray markers it has.

    `marks` are the sentences that failed their check, as spans of this text.
    """
    failed = list(marks)
    reading = read_citations(text, sources)
    by_number = {source.number: source for source in sources}
    found = [
        FoundCitation(
            one.number,
            one.claim,
            _passage(by_number[one.number], one.claim.of(text)),
            _problem(one.claim, failed),
        )
        for one in reading.citations
    ]
    return found, len(reading.strays)


def _problem(claim: Span, marks: Iterable[Mark]) -> str:
    """That of the mark which the claim lies in: cleaning a text may have parted its sentences."""
    inside = (
        mark.problem
        for mark in marks
        if mark.span.start <= claim.start and claim.end <= mark.span.end
    )
    return next(inside, "")


def _passage(source: Source, claim: str) -> int | None:
    return best_passage(claim, [span.of(source.text) for span in source.passages])
