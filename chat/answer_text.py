"""The answer that a run's events make: the one rule for the driver, the store and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chat.agent.repair import moved, replaced
from chat.agent.values import Span
from memory.service import clean_text


@dataclass(frozen=True, slots=True)
class Mark:
    """A sentence of the answer that its sources do not support, and what is missing there."""

    span: Span
    problem: str


@dataclass(slots=True)
class AnswerText:
    """`fail_count` and `last_error` are those of the run's working memory."""

    text: str = ""
    marks: list[Mark] = field(default_factory=list)
    fail_count: int = 0
    last_error: str = ""
    _step_start: int = 0

    def hear(self, kind: str, data: Mapping[str, Any]) -> None:
        """Takes in an event by its type and fields. Events come in the order of `seq`."""
        if kind == "step_started":
            self._step_start = len(self.text)
        elif kind == "text_added":
            self.text += data["text"]
        elif kind == "text_retracted":
            self.text = self.text[: self._step_start]
        elif kind == "text_corrected":
            self.text, self.marks = data["text"], []
        elif kind == "sentence_failed":
            self.fail_count += 1
            self.last_error = data["problem"]
        elif kind == "sentence_replaced":
            self._replace(Span(data["start"], data["end"]), data["text"])
        elif kind == "sentence_unsupported":
            self.marks.append(Mark(Span(data["start"], data["end"]), data["problem"]))

    def _replace(self, place: Span, sentence: str) -> None:
        self.text = replaced(self.text, place, sentence)
        self.marks = [Mark(moved(one.span, place, sentence), one.problem) for one in self.marks]

    def marks_in(self, clean: str) -> list[Mark]:
        """The marks where their sentences stand in the text as it is stored."""
        if clean == self.text:
            return list(self.marks)
        found = []
        for mark in self.marks:
            sentence = clean_text(mark.span.of(self.text)).strip()
            start = clean.find(sentence)
            if sentence and start >= 0:
                found.append(Mark(Span(start, start + len(sentence)), mark.problem))
        return found


def answer_after(events: Iterable[Mapping[str, Any]]) -> AnswerText:
    answer = AnswerText()
    for event in events:
        answer.hear(event["type"], event)
    return answer
