"""Where sentences begin and end, in any script.

A full stop ends a sentence unless it belongs to an abbreviation, an initial, a decimal or an
ordinal, or the next word goes on in lower case (the idea of UAX #29, rule SB8). Full-width stops
need no space after them. A blank line, a heading and a list item end what came before. Every
sentence is a span of the text that was given, so that a quotation can be checked letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chat.agent.values import Span

_CLOSERS = "\"'”’»›)]}」』）】〉》"
_FULL_WIDTH = "。！？｡"
_SPACED = ".!?…؟।॥۔։"
# A match begins only where a run of stops begins, and never gives back: linear for any input.
_STOP = re.compile(
    rf"(?<![{_FULL_WIDTH}])[{_FULL_WIDTH}]++[{re.escape(_CLOSERS)}]*+"
    rf"|(?<![{_SPACED}])[{_SPACED}]++[{re.escape(_CLOSERS)}]*+(?:[ \u00a0\u202f]»)?(?=\s|\Z)"
)
_LINE_OPENER = r"[ \t]*(?:#{1,6}[ \t]|[-*+•·][ \t]|\d{1,3}[.)][ \t])"
_BLOCK_BREAK = re.compile(rf"\n[ \t]*\n\s*|\n(?={_LINE_OPENER})")
_HEADING = re.compile(r"#{1,6}[ \t]")
_LAST_WORD = re.compile(r"([^\W_]+)\.$")
_NEXT_WORD = re.compile(r"\s*[\"'“„«‹(\[¿¡]*([^\W_]*)")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that a full stop follows without ending the sentence, in the languages we know.
_ABBREVIATIONS = _words(
    "dr mr mrs ms prof st mt jr sr sra srta dra lic ing hr fr nr bd vs no fig figs approx ca cf "
    "vol ed eds pp al eg ie bzw evtl ggf inkl usw vgl sog abs art kap ej av env apr exp mme mlle "
    "núm pág тыс млн млрд им ул проф акад см ср напр рис"
)
_GERMAN_AFTER_ORDINAL = _words(
    "januar jänner februar märz april mai juni juli august september oktober november dezember "
    "jahrhundert jahrhunderts jahrtausend kapitel auflage klasse weltkrieg mal platz"
)


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a text in order, trimmed, none empty. Headings are spans of their own."""
    return [span for block in _blocks(text) for span in _within(text, block)]


def is_heading(sentence: str) -> bool:
    return _HEADING.match(sentence) is not None


def _blocks(text: str) -> Iterator[Span]:
    start = 0
    for match in _BLOCK_BREAK.finditer(text):
        yield from _heading_apart(text, Span(start, match.start()))
        start = match.end()
    yield from _heading_apart(text, Span(start, len(text)))


def _heading_apart(text: str, block: Span) -> Iterator[Span]:
    """A heading ends at its line, also where no blank line follows."""
    line_end = text.find("\n", block.start, block.end)
    if line_end >= 0 and _HEADING.match(text, block.start):
        yield Span(block.start, line_end)
        yield from _heading_apart(text, Span(line_end + 1, block.end))
    else:
        yield block


def _within(text: str, block: Span) -> Iterator[Span]:
    start = block.start
    for match in _STOP.finditer(text, block.start, block.end):
        if _ends_here(text, start, match, block.end):
            yield from _trimmed(text, start, match.end())
            start = match.end()
    yield from _trimmed(text, start, block.end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = start + len(piece.rstrip())
    if left < right:
        yield Span(left, right)


def _ends_here(text: str, start: int, stop: re.Match[str], block_end: int) -> bool:
    if stop.group()[0] in _FULL_WIDTH:
        return not _goes_on_after_quote(text, stop)
    upcoming = _NEXT_WORD.match(text, stop.end(), block_end)
    next_word = upcoming.group(1) if upcoming else ""
    if next_word[:1].islower():
        return False
    return not (stop.group() == "." and _is_abbreviated(text, start, stop.end(), next_word))


def _goes_on_after_quote(text: str, stop: re.Match[str]) -> bool:
    """「…。」と言った: the sentence that holds the quotation has not ended."""
    return stop.group()[-1] in "」』" and "ぁ" <= text[stop.end() : stop.end() + 1] <= "ゖ"


def _is_abbreviated(text: str, start: int, end: int, next_word: str) -> bool:
    before = text[max(start, end - 40) : end]
    match = _LAST_WORD.search(before)
    if match is None:
        return False
    word = match.group(1)
    if word.isdecimal():
        return len(word) <= 2 and next_word.lower() in _GERMAN_AFTER_ORDINAL
    if len(word) == 1 and word.isalpha():
        return match.start() == 0 or before[match.start() - 1] in " .-(\u00a0"
    return word.lower() in _ABBREVIATIONS
