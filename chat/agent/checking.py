"""Check and repair: once an answer stands, every cited sentence is held against its passages.

A sentence that does not pass is replaced by one that does, or stays and is marked. At most one
repair a sentence: two failures end it. Whatever goes wrong on the way, the text stays whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace

from chat.agent.errors import ModelError
from chat.agent.events import (
    AgentEvent,
    SentenceFailed,
    SentenceReplaced,
    SentenceUnsupported,
)
from chat.agent.limits import Meter
from chat.agent.ports import ChatModel, CitationReader, SentenceChecker, StopSignal
from chat.agent.race import OutOfTime, Stopped
from chat.agent.repair import ask_for_sentence, build_repair, fits, moved, replaced
from chat.agent.values import CitedSentence, Source
from chat.agent.working import Screen, WorkingMemory, found_for, working_memory

# Each repair is a model call that the person waits for.
MAX_REPAIRS = 4
MAX_CLAIM_CHARS = 120
NO_SENTENCE = "the repair gave no cited sentence that fits in its place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """What an answer is checked with. Without `repairs` a failing sentence is only marked."""

    reader: CitationReader
    checker: SentenceChecker
    screen: Screen
    repairs: bool = True


@dataclass(frozen=True, slots=True)
class _Failing:
    sentence: CitedSentence
    problem: str


class AnswerCheck:
    """The check of one answer. `working` is what is at hand for it, and what came of it."""

    def __init__(
        self,
        question: str,
        text: str,
        sources: Sequence[Source],
        *,
        checking: Checking,
        model: ChatModel,
        meter: Meter,
        stop: StopSignal,
        count_tokens: Callable[[str], int],
    ) -> None:
        self.text = text
        # Filled once something fails: to screen all that was found takes a while.
        self.working = WorkingMemory(job="")
        self._question = question
        self._sources = {source.number: source for source in sources}
        self._checking = checking
        self._model = model
        self._meter = meter
        self._stop = stop
        self._count_tokens = count_tokens
        self._repairs_left = MAX_REPAIRS if checking.repairs else 0

    async def events(self) -> AsyncGenerator[AgentEvent, None]:
        """What fails, what takes its place, and last what stays without support."""
        left: list[_Failing] = []
        sentences = self._checking.reader.cited_sentences(self.text, list(self._sources.values()))
        failing = await self._failing(sentences)
        if failing:
            cited = {number for one in sentences for number in one.numbers}
            self.working = await asyncio.to_thread(self._at_hand, cited)
        while failing:
            one = failing.pop(0)
            yield self._failed(one)
            sentence, again = await self._repaired(one)
            if again:
                yield self._failed(again)
            if not sentence:
                left.append(one)
                continue
            place = one.sentence.span
            self.text = replaced(self.text, place, sentence)
            self.working = replace(self.working, draft=self._checking.screen(self.text))
            failing = [_after(other, one, sentence) for other in failing]
            yield SentenceReplaced(place.start, place.end, sentence)
        for one in left:
            span = one.sentence.span
            yield SentenceUnsupported(span.start, span.end, one.problem)

    def _at_hand(self, cited: set[int]) -> WorkingMemory:
        sources = found_for(self._sources.values(), cited)
        return working_memory(self._question, sources, self.text, screen=self._checking.screen)

    async def _failing(self, sentences: Sequence[CitedSentence]) -> list[_Failing]:
        found = [_Failing(one, await self._problem(one)) for one in sentences]
        return [one for one in found if one.problem]

    async def _problem(self, sentence: CitedSentence) -> str:
        cited = [self._sources[number] for number in sentence.numbers]
        context = f"{self._question}\n\n{self.text}"
        return await self._checking.checker.problem(sentence.claim, cited, context=context)

    def _failed(self, one: _Failing) -> SentenceFailed:
        self.working = self.working.failed(self._checking.screen(_error(one)))
        span = one.sentence.span
        return SentenceFailed(span.start, span.end, self.working.last_error)

    async def _repaired(self, one: _Failing) -> tuple[str, _Failing | None]:
        """A sentence that passes; or nothing, and what fails of the one that was offered.

        There is neither where no call was allowed or the call did not end: the text stays.
        """
        messages = build_repair(self.working, one.sentence, self.text, self._count_tokens)
        n_tokens = sum(self._count_tokens(message.text) for message in messages)
        if not (self._repairs_left and self._meter.allows_repair(n_tokens)):
            return "", None
        self._repairs_left -= 1
        try:
            sentence = await ask_for_sentence(
                self._model, messages, self._meter, self._stop, n_tokens
            )
        except (ModelError, Stopped, OutOfTime):
            self._repairs_left = 0
            return "", None
        return await self._judged(sentence, one)

    async def _judged(self, sentence: str, one: _Failing) -> tuple[str, _Failing | None]:
        sources = list(self._sources.values())
        place = one.sentence.span
        cited = fits(sentence, place, self.text, sources, self._checking.reader)
        if not cited:
            return "", replace(one, problem=NO_SENTENCE)
        for new in cited:
            if problem := await self._problem(new):
                return "", _Failing(replace(new, span=place), problem)
        return sentence, None


def _error(one: _Failing) -> str:
    """What is wrong with which sentence, as one sentence."""
    claim = one.sentence.claim.strip().rstrip(".!?…。！？")
    said = claim if len(claim) <= MAX_CLAIM_CHARS else f"{claim[:MAX_CLAIM_CHARS]}…"
    numbers = ", ".join(f"{number}" for number in one.sentence.numbers)
    which = "source" if len(one.sentence.numbers) == 1 else "sources"
    return f"“{said}” is not supported by {which} {numbers}: {one.problem}."


def _after(other: _Failing, one: _Failing, sentence: str) -> _Failing:
    span = moved(other.sentence.span, one.sentence.span, sentence)
    return replace(other, sentence=replace(other.sentence, span=span))
