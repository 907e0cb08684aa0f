"""Lines that are read again from their messages say what was packed."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from memory.engine import History, Message
from memory.engine.values import Span
from memory.engine.written import written

AT = datetime(2026, 3, 4, 12, tzinfo=ZoneInfo("Europe/Berlin"))
PIECES = st.sampled_from(
    [
        "We met yesterday.",
        "Last week it rained (on Monday,\nand on Tuesday).",
        "    return the boat",
        "```\nyesterday = today - 1\n```",
        "- the keel is 2.40 m",
        "1\tdef keel():",
        "2\t    return 2.4",
        "# Boats",
        "boat " * 90,
        "水の密度は四度で最大になります。昨日",
        "",
    ]
)
TEXTS = st.lists(PIECES, max_size=6).map("\n".join)


@given(said=TEXTS, answered=TEXTS, read=TEXTS)
def test_a_line_read_again_is_the_line_that_was_packed(said: str, answered: str, read: str) -> None:
    messages = [
        Message("u", "user", said, at=AT),
        Message("s", "tool", read, at=AT, tool="page", target="https://boats.test/"),
        Message("a", "assistant", answered, at=AT),
    ]
    packed = History(messages).pack("What of the boat?", 100_000)
    known = {message.id: message for message in messages}
    for line in packed.lines:
        if line.message_id is not None and line.span is not None:
            assert written(known[line.message_id], [line.span]) == [line.text]


def test_a_place_behind_the_end_of_a_text_holds_nothing() -> None:
    assert written(Message("u", "user", "Short."), [Span(90, 99)]) == [""]
