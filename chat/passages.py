"""The passages of a source as a person sees them, with the words that a claim shares marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chat.agent.citations import best_passage
from chat.models import Passage, Source

# A word, or one character of a script that writes no spaces between words.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
MIN_MARKED_CHARS = 4
MIN_RUN_WORDS = 3

Piece = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class ShownPassage:
    pieces: Sequence[Piece]
    cited: bool


def shown_passages(source: Source, *, limit: int | None) -> tuple[list[ShownPassage], int]:
    """The passages, cited ones first when there are too many, and how many are not shown."""
    passages = _passages(source)
    claims = _claims(source)
    if limit is not None and len(passages) > limit:
        first = [one for one in passages if one.pk in claims]
        first += [one for one in passages if one.pk not in claims]
        kept = {one.pk for one in first[:limit]}
    else:
        kept = {one.pk for one in passages}
    shown = [
        ShownPassage(marked(one.text, claims.get(one.pk, "")), one.pk in claims)
        for one in passages
        if one.pk in kept
    ]
    return shown, len(passages) - len(shown)


def preview_of(source: Source, claim: str) -> list[ShownPassage]:
    """The one passage that a claim rests on, or the first when the claim says nothing."""
    passages = _passages(source)
    if not passages:
        return []
    texts = [one.text for one in passages]
    best = best_passage(claim, texts)
    return [ShownPassage(marked(texts[best or 0], claim), True)]


def marked(text: str, claim: str) -> list[Piece]:
    """The text in pieces, those marked that stand in the claim too: runs of three words or more,
    and single words that are long or numbers."""
    known = {word.casefold() for word in _WORD.findall(claim)}
    pieces: list[Piece] = []
    position = 0
    for start, end in _runs(list(_WORD.finditer(text)), known):
        pieces += [(text[position:start], False), (text[start:end], True)]
        position = end
    pieces.append((text[position:], False))
    return [piece for piece in pieces if piece[0]]


def _runs(words: Sequence[re.Match[str]], known: set[str]) -> Iterator[tuple[int, int]]:
    """Where neighbouring words that are known begin and end, if they are worth a mark."""
    run: list[re.Match[str]] = []
    for word in [*words, None]:
        if word is not None and word.group().casefold() in known:
            run.append(word)
            continue
        if len(run) >= MIN_RUN_WORDS or any(_tells(one.group()) for one in run):
            yield run[0].start(), run[-1].end()
        run = []


def _tells(word: str) -> bool:
    return len(word) >= MIN_MARKED_CHARS or word.isdecimal()


def _passages(source: Source) -> list[Passage]:
    passages = list(source.passages.all())
    for one in passages:
        one.source = source
    return passages


def _claims(source: Source) -> dict[int, str]:
    """For each cited passage, the words of the claims that rest on it."""
    answer = source.run.answer.text
    claims: dict[int, str] = {}
    for citation in source.citations.exclude(passage=None):
        claim = answer[citation.start : citation.end]
        passage = citation.passage_id or 0
        claims[passage] = f"{claims.get(passage, '')} {claim}"
    return claims
