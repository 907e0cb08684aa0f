"""What an answer cites, found by the parser and the rules of the page."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from chat.agent.values import Span
from chat.rendering.index import Citable, SourceIndex
from chat.rendering.places import Block, blocks
from chat.rendering.resolving import Finding, Resolved, resolve_inline
from chat.rendering.sentences import sentence_at, sentences


@dataclass(frozen=True, slots=True)
class FoundCitation:
    """A link from the sentence `claim` to source `number`; `marker` lies within the claim."""

    number: int
    marker: Span
    claim: Span


@dataclass(frozen=True, slots=True)
class Stray:
    """Numbers in citation position that no source has. They are not shown."""

    numbers: tuple[int, ...]
    marker: Span


@dataclass(frozen=True, slots=True)
class Reading:
    """Spans are of the text that was read; both tuples follow it."""

    citations: tuple[FoundCitation, ...]
    strays: tuple[Stray, ...]


def read_citations(text: str, sources: Iterable[Citable]) -> Reading:
    """What `answer_html` shows as citations, and what it drops."""
    index = SourceIndex(sources)
    citations: list[FoundCitation] = []
    strays: list[Stray] = []
    for block in blocks(text):
        if isinstance(block, Block):
            found, dropped = _read(block, index)
            citations += found
            strays += dropped
    return Reading(tuple(citations), tuple(strays))


def closing_citations(text: str, index: SourceIndex, claims: Collection[Span]) -> set[int]:
    """Which of the places that cite, counted from 0, are the last of one of these sentences."""
    last: dict[Span, int] = {}
    count = 0
    for block in blocks(text) if claims else ():
        if isinstance(block, Block):
            resolved = resolve_inline(block.children, index)
            for _, claim in _claims(block, resolved):
                last[claim] = count
                count += 1
    return {last[claim] for claim in claims if claim in last}


def _read(block: Block, index: SourceIndex) -> tuple[Iterator[FoundCitation], Iterator[Stray]]:
    resolved = resolve_inline(block.children, index)
    found = (
        FoundCitation(number, block.span(finding.start, finding.end), claim)
        for finding, claim in _claims(block, resolved)
        for number in finding.numbers
    )
    dropped = (
        Stray(finding.numbers, block.span(finding.start, finding.end))
        for finding in resolved.strays
    )
    return found, dropped


def _claims(block: Block, resolved: Resolved) -> Iterator[tuple[Finding, Span]]:
    """Every place of a block that cites, with the sentence that it closes."""
    spans = [(finding.start, finding.end) for finding in resolved.cited + resolved.strays]
    claims = sentences(block.content, spans)
    for finding in resolved.cited:
        yield finding, block.span(*sentence_at(claims, finding.start))
