"""A sentence in the place of another: nothing else of the answer changes its meaning."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from chat.agent.repair import fits, moved, replaced
from chat.agent.values import CitedSentence, Source, Span
from chat.support import RenderedCitations
from tests.core.fakes import NOON

READER = RenderedCitations()
SOURCES = [
    Source(
        number=number,
        title=f"Page {number}",
        url=f"https://example.org/{number}",
        domain="example.org",
        text="Text.",
        read_at=NOON,
        provider="Fake",
    )
    for number in (1, 2)
]
PIECES = [
    "Ice floats [1].",
    " It is **light**[2].",
    "\n\n- one [1]",
    "\n- two",
    "\n\n| a | [2] |\n|--|--|",
]
PIECES += [
    "\n| 氷は水に浮きます【1】。 | b |",
    "\n\n```\ncode [1]\n```\n\n",
    " $x[1]$ ",
    " a_b [1]. ",
    "\n\n# Top [2]\n",
]
SENTENCES = [
    "Ice is light [1].",
    "Ice [1",
    "`",
    "$5 [1].",
    "**bold [2].",
    "* [1]",
    "So [1]. And [2].",
    "1. x [1]",
]


def texts() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)


@given(
    text=texts(),
    at=st.integers(0, 9),
    sentence=st.sampled_from(SENTENCES) | st.text("ab [1].*", max_size=30),
)
@example(text="Ice floats [1]. Snow falls [2].", at=0, sentence="Ice is light [1].")
def test_a_sentence_that_fits_leaves_every_other_citation_what_it_was(
    text: str, at: int, sentence: str
) -> None:
    before = READER.cited_sentences(text, SOURCES)
    if not before:
        return
    place = before[at % len(before)].span
    new = fits(sentence, place, text, SOURCES, READER)
    if not new:
        return
    after = READER.cited_sentences(replaced(text, place, sentence), SOURCES)
    others = [
        CitedSentence(moved(one.span, place, sentence), one.claim, one.numbers)
        for one in before
        if one.span != place
    ]
    assert [one for one in after if one not in new] == others
    assert {number for one in new for number in one.numbers} <= {1, 2}


def test_some_sentences_do_fit() -> None:
    text = "Ice floats [1]. Snow falls [2]."
    (new,) = fits("Ice is light [2].", Span(0, 15), text, SOURCES, READER)
    assert (new.span, new.numbers) == (Span(0, 17), (2,))
