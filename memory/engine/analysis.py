"""What is found out about one message when it is written, whatever stands before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.engine.calls import Call, read_call, record
from memory.engine.dates import Dated, annotate, find_dates
from memory.engine.frames import heading_words, show_line
from memory.engine.lines import Line, split_lines
from memory.engine.markup import code_spans
from memory.engine.sanitizer import sanitize
from memory.engine.terms import terms_of
from memory.engine.values import Message


@dataclass(frozen=True, slots=True)
class Analysed:
    """`text` is the clean text that `lines` cut; `terms` has those of each line, dates included;
    `dates` are by the number of the line."""

    message: Message
    text: str
    lines: tuple[Line, ...]
    call: Call | None
    heading: list[str]
    terms: list[list[str]]
    dates: dict[int, list[Dated]]

    def line_text(self, number: int) -> str:
        return self.lines[number].of(self.text)

    def bare(self, number: int) -> str:
        """A line without the number that a tool printed before it."""
        line = self.lines[number]
        return self.text[line.body : line.end]

    def shown(self, number: int) -> str:
        """A line as it is printed while it is still so."""
        line = self.lines[number]
        body = line.body - line.start
        return show_written(self.line_text(number), body, self.dates.get(number, ()))


def show_written(text: str, body: int, dates: Sequence[Dated]) -> str:
    """A line as it was written, with its dates where it speaks of some."""
    return annotate(text, dates).strip() if dates else show_line(text, body)


def clean_text_of(message: Message) -> tuple[str, Call | None]:
    """The text that is remembered of a message, and the call that it answers."""
    call = read_call(message)
    return record(message, call, sanitize(message.text).text), call


def analyse(message: Message, *, with_dates: bool = True) -> Analysed:
    text, call = clean_text_of(message)
    lines = tuple(split_lines(text))
    terms = [terms_of(line.of(text)) for line in lines]
    dates = _dates(message, text, lines) if with_dates else {}
    for number, found in dates.items():
        terms[number] += terms_of(" ".join(str(dated.when) for dated in found))
    heading = terms_of(heading_words(message))
    return Analysed(message, text, lines, call, heading, terms, dates)


def _dates(message: Message, text: str, lines: tuple[Line, ...]) -> dict[int, list[Dated]]:
    """The dates that lines of talk speak of. Code speaks of none."""
    if message.role == "tool" or message.at is None:
        return {}
    dates = {}
    for number, line in enumerate(lines):
        found = find_dates(line.of(text), message.at)
        if found and code_spans(text).end_around(line.start) < 0:
            dates[number] = found
    return dates
