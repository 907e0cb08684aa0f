"""Which passage each claim of an answer rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chat.agent.citations import best_passage
from chat.agent.values import Source, Span
from chat.rendering import read_citations


@dataclass(frozen=True, slots=True)
class FoundCitation:
    """A claim, as a span of the answer, and what it rests on: the source's number and the index
    among its passages (None when it has none)."""

    number: int
    span: Span
    passage: int | None


def citations_of(text: str, sources: Sequence[Source]) -> tuple[list[FoundCitation], int]:
    """The citations of an answer in the order of its text, and how many stray markers it has."""
    reading = read_citations(text, sources)
    by_number = {source.number: source for source in sources}
    found = [
        FoundCitation(one.number, one.claim, _passage(by_number[one.number], one.claim.of(text)))
        for one in reading.citations
    ]
    return found, len(reading.strays)


def _passage(source: Source, claim: str) -> int | None:
    return best_passage(claim, [span.of(source.text) for span in source.passages])
