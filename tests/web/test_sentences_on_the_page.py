"""A page that follows an answer and one that is loaded later show the same sentences."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chat.agent.repair import replaced
from chat.presenting import TurnPresenter, safe_answer
from tests.core.test_repair import READER, SOURCES, texts


@given(text=texts(), cuts=st.sets(st.integers(0, 120)), at=st.integers(0, 9))
def test_a_page_shows_the_same_however_the_answer_came_and_whenever_it_is_loaded(
    text: str, cuts: set[int], at: int
) -> None:
    """The blocks of a page that heard every event are those of a page that is loaded later."""
    sentences = READER.cited_sentences(text, SOURCES)
    if not sentences:
        return
    place = sentences[at % len(sentences)].span
    sentence = "Ice is light [1]."
    presenter = TurnPresenter(7, 3)
    page: dict[int, str] = {}
    final = replaced(text, place, sentence)
    marks = READER.cited_sentences(final, SOURCES)[-1:]
    events = [
        *(
            {
                "type": "source_found",
                "number": one.number,
                "title": one.title,
                "url": one.url,
                "domain": one.domain,
            }
            for one in SOURCES
        ),
        {"type": "step_started", "step": 1},
        *({"type": "text_added", "text": piece} for piece in split(text, cuts)),
        {"type": "sentence_failed", "start": place.start, "end": place.end, "problem": "No."},
        {"type": "sentence_replaced", "start": place.start, "end": place.end, "text": sentence},
        *(
            {
                "type": "sentence_unsupported",
                "start": one.span.start,
                "end": one.span.end,
                "problem": "No.",
            }
            for one in marks
        ),
    ]
    for seq, event in enumerate([*events, {"type": "run_finished", "status": "complete"}], 1):
        for put in presenter.hear({"seq": seq, "run": 3, **event}):
            apply(page, put)
    spans = [one.span for one in marks]
    whole = "".join(html for _, html in sorted(page.items()))
    assert whole == safe_answer(final, SOURCES, 7, unsupported=spans)


def split(text: str, cuts: set[int]) -> list[str]:
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def apply(page: dict[int, str], put: list[Any]) -> None:
    if put[0] == "text":
        page[put[1]] = page.get(put[1], "") + put[2]
    elif put[0] == "block":
        page[put[1]] = put[2]
    elif put[0] == "blocks":
        for block in [one for one in page if one >= put[1]]:
            del page[block]
