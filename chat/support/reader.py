"""The cited sentences of an answer, as the page shows its citations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.agent.values import CitedSentence, Source, Span
from chat.rendering import read_citations, strip_markers

_EMPHASIS = re.compile(r"\*+|__|~~|`")


class RenderedCitations:
    """The `CitationReader` of the Markdown parser."""

    def cited_sentences(self, text: str, sources: Sequence[Source]) -> Sequence[CitedSentence]:
        numbers: dict[Span, dict[int, None]] = {}
        for one in read_citations(text, sources).citations:
            numbers.setdefault(one.claim, {})[one.number] = None
        return [
            CitedSentence(span, _EMPHASIS.sub("", strip_markers(span.of(text))), tuple(cited))
            for span, cited in numbers.items()
        ]
