"""Lines read again from the messages that they stand in, for showing what was packed."""

from __future__ import annotations

from collections.abc import Sequence

from memory.engine.analysis import clean_text_of, show_written
from memory.engine.dates import find_dates
from memory.engine.lines import split_lines
from memory.engine.markup import code_spans
from memory.engine.values import Message, Span


def written(message: Message, spans: Sequence[Span]) -> list[str]:
    """The lines at these spans of a message's clean text as they are printed while they are still
    so: dates said, rows without their indentation. Empty for a span that holds nothing any more.
    """
    text, _ = clean_text_of(message)
    bodies = {line.span: line.body for line in split_lines(text)}
    return [_shown(message, text, span, bodies.get(span, span.start)) for span in spans]


def _shown(message: Message, text: str, span: Span, body: int) -> str:
    line = span.of(text)
    is_talk = message.role != "tool" and code_spans(text).end_around(span.start) < 0
    return show_written(line, body - span.start, find_dates(line, message.at) if is_talk else ())
