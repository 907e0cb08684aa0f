"""Working memory: five slots for the question in hand, emptied by the next one.

It is a value: a question begins with a new one, so nothing of the last question can be left in it.
Whatever goes in passes a `Screen` first, so that no password and no key can be read out of it. The
texts of its chunks belong to the sources' snapshots: it is made from these whenever it is looked
at, and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from chat.agent.citations import match_marker
from chat.agent.sentences import sentence_spans
from chat.agent.values import Source

MAX_SENTENCE_CHARS = 300

# Gives a text without what must not be kept: passwords and keys.
Screen = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that was found for this question, of the source with this number."""

    number: int
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMemory:
    """`job` and `last_error` are one sentence each; `fail_count` counts from zero."""

    job: str
    chunks: tuple[Chunk, ...] = ()
    draft: str = ""
    fail_count: int = 0
    last_error: str = ""

    def failed(self, problem: str) -> WorkingMemory:
        """The same after one more sentence did not pass."""
        return replace(self, fail_count=self.fail_count + 1, last_error=one_sentence(problem))

    def fields(self) -> dict[str, Any]:
        """The five fields as JSON takes them."""
        return {
            "job": self.job,
            "chunks": [{"title": chunk.title, "text": chunk.text} for chunk in self.chunks],
            "draft": self.draft,
            "fail_count": self.fail_count,
            "last_error": self.last_error,
        }


def working_memory(
    question: str, sources: Iterable[Source], draft: str, *, screen: Screen
) -> WorkingMemory:
    """What is at hand for a question, before anything has failed."""
    return WorkingMemory(
        job=_job(screen(question)),
        chunks=tuple(_chunks(_at_hand(sources, draft), screen)),
        draft=screen(draft),
    )


def found_for(sources: Iterable[Source], cited: Collection[int]) -> list[Source]:
    """The sources that belong to a question: those that it found. One that the conversation
    brought back from an earlier question is among them only where the answer cites it."""
    return [one for one in sources if not one.recalled or one.number in cited]


def one_sentence(text: str, max_chars: int = MAX_SENTENCE_CHARS) -> str:
    """The first sentence on one line; a cut is shown as "…"."""
    spans = sentence_spans(text)
    sentence = " ".join(spans[0].of(text).split()) if spans else ""
    return sentence if len(sentence) <= max_chars else f"{sentence[: max_chars - 1].rstrip()}…"


def _job(question: str) -> str:
    """The sentence that asks; the first one where none does."""
    spans = sentence_spans(question)
    asking = (span for span in spans if span.of(question).endswith(("?", "？", "؟")))
    first = next(asking, spans[0] if spans else None)
    return one_sentence(first.of(question)) if first else ""


def _at_hand(sources: Iterable[Source], draft: str) -> Iterable[Source]:
    """What was found for this question; of what an earlier one found, only what is cited again."""
    cited = _cited(draft)
    return (one for one in sources if not one.recalled or one.number in cited)


def _cited(text: str) -> set[int]:
    markers = (match_marker(text, at) for at, sign in enumerate(text) if sign in "[【")
    return {number for marker in markers if marker for number in marker.numbers}


def _chunks(sources: Iterable[Source], screen: Screen) -> Iterable[Chunk]:
    for source in sources:
        for span in source.passages:
            if text := screen(span.of(source.text)).strip():
                yield Chunk(source.number, source.title, text)
