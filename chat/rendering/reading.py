"""What an answer cites, found by the parser and the rules of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chat.agent.values import Span
from chat.rendering.index import Citable, SourceIndex
from chat.rendering.places import Block, blocks
from chat.rendering.resolving import resolve_inline
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


def _read(block: Block, index: SourceIndex) -> tuple[Iterator[FoundCitation], Iterator[Stray]]:
    resolved = resolve_inline(block.children, index)
    spans = [(finding.start, finding.end) for finding in resolved.cited + resolved.strays]
    claims = sentences(block.content, spans)
    found = (
        FoundCitation(
            number,
            block.span(finding.start, finding.end),
            block.span(*sentence_at(claims, finding.start)),
        )
        for finding in resolved.cited
        for number in finding.numbers
    )
    dropped = (
        Stray(finding.numbers, block.span(finding.start, finding.end))
        for finding in resolved.strays
    )
    return found, dropped
