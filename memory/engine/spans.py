"""Which spans of a conversation are summarised: a plan from the number of messages alone.

Spans are the binary digits of the number of messages that left the window: 13 messages are 8 + 4 +
1, oldest first. A new message joins the newest spans as one is carried when counting, so older
spans stay as they are, most messages are summarised again only as often as their number doubles,
and there are never more spans than digits. A wider span is made again from its messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from memory.engine.values import Span

Made = TypeVar("Made")


def planned_spans(n_messages: int, most: int) -> list[Span]:
    """The spans of the first `n_messages`, oldest first, without gaps, at most `most` (1 or more).

    Where that would be too many, the newest and smallest are one: joining the oldest would mean
    to read half of the conversation again.
    """
    sizes = [1 << bit for bit in reversed(range(n_messages.bit_length())) if n_messages >> bit & 1]
    if len(sizes) > most:
        sizes = [*sizes[: most - 1], sum(sizes[most - 1 :])]
    spans, start = [], 0
    for size in sizes:
        spans.append(Span(start, start + size))
        start += size
    return spans


def cover(made: Iterable[tuple[Span, Made]], n_messages: int) -> list[Made]:
    """Of the summaries that exist, those to show for the first `n_messages`: oldest first, the
    widest where several begin alike, none over another and none that reaches further."""
    shown: list[Made] = []
    reached = 0
    for span, summary in sorted(made, key=lambda one: (one[0].start, -one[0].end)):
        if span.start >= reached and span.end <= n_messages:
            shown.append(summary)
            reached = span.end
    return shown


def span_of(members: Sequence[int], places: dict[int, int]) -> Span | None:
    """Where a summary's messages lie on a path; None if its last one is not on it.

    `places` maps the path's messages to their places. In a tree a path that holds the last message
    holds all of them.
    """
    first, last = places.get(members[0]), places.get(members[-1])
    return None if first is None or last is None else Span(first, last + 1)
