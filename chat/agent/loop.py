"""The loop of one turn: ask the model, run its tools, feed back, until answer, stop or limit.

The model decides by itself, on every step, whether to search or to answer; nothing else routes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from chat.agent.checking import AnswerCheck, Checking
from chat.agent.errors import ContextTooLong, ModelError
from chat.agent.events import (
    AgentEvent,
    FinalStatus,
    FollowupsSuggested,
    LimitReached,
    RunFinished,
    SourceFound,
    StepStarted,
    TextAdded,
    TextRetracted,
)
from chat.agent.gathering import Gatherer
from chat.agent.limits import Limits, Meter
from chat.agent.output import CallInText, Followups, OutputEvent, OutputFilter, Retracted, Visible
from chat.agent.ports import (
    ChatModel,
    Clock,
    Finished,
    FinishReason,
    Recall,
    StopSignal,
    TextDelta,
    ToolCallMade,
)
from chat.agent.prompts import build_continuation, build_prompt, limit_note
from chat.agent.quoting import quote_earlier, quote_error, quote_summaries
from chat.agent.race import OutOfTime, Stopped, guarded
from chat.agent.sources import SourceRegistry
from chat.agent.tools import Toolbox
from chat.agent.values import History, Message, Remembered, Source, ToolCall, ToolSpec, Usage

CUT_CALL = (
    "This call was cut off by the limit on the answer's length and was not run. "
    "Make it shorter, or answer from what is there."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is asked. With `answer` not empty, the rest of that cut answer, with its sources."""

    question: str
    history_budget_tokens: int
    answer: str = ""
    sources: Sequence[Source] = ()
    remembered: Remembered | None = None
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a turn is answered with."""

    model: ChatModel
    toolbox: Toolbox
    recall: Recall
    clock: Clock
    limits: Limits
    count_tokens: Callable[[str], int]
    checking: Checking | None = None


@dataclass(slots=True)
class _Step:
    """What one model call has given so far."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    followups: tuple[str, ...] = ()
    finish: FinishReason = "unknown"


def run_turn(turn: Turn, means: Means, stop: StopSignal) -> AsyncGenerator[AgentEvent, None]:
    """The events of one turn. The last one is RunFinished, however the turn ends."""
    return _TurnRun(turn, means, stop).events()


class _TurnRun:
    def __init__(self, turn: Turn, means: Means, stop: StopSignal) -> None:
        self._turn = turn
        self._means = means
        self._stop = stop
        self._meter = Meter(means.limits, means.clock)
        self._registry = SourceRegistry(turn.sources)
        self._gatherer = Gatherer(means.toolbox, self._registry, means.clock, self._meter, stop)
        self._prompt: list[Message] = []
        self._exchange: list[Message] = []
        self._history_budget = turn.history_budget_tokens
        self._history_tokens = 0
        self._said_limit = ""
        self._step = _Step()

    async def events(self) -> AsyncGenerator[AgentEvent, None]:
        try:
            async with aclosing(self._steps()) as steps:
                async for event in steps:
                    yield event
            async with aclosing(self._checked()) as events:
                async for event in events:
                    yield event
            if self._step.followups:
                yield FollowupsSuggested(self._step.followups)
            yield self._finished(*self._outcome())
        except Stopped:
            yield self._finished("stopped", "You stopped this answer.")
        except OutOfTime:
            yield self._finished(*self._over(self._meter.time_limit))
        except ModelError as error:
            yield self._finished("failed", str(error))

    async def _steps(self) -> AsyncGenerator[AgentEvent, None]:
        if self._turn.answer:
            for source in self._turn.sources:
                yield SourceFound(source)
            yield TextAdded(self._turn.answer)
        for source in await self._recall():
            yield SourceFound(source)
        refused_calls = 0
        while True:
            tools = self._allowed_tools()
            if tools is None:
                return
            if self._said_limit and not self._exchange_has_note():
                yield LimitReached(self._said_limit)
                self._exchange.append(limit_note(self._said_limit))
            self._step = _Step()
            yield StepStarted(self._meter.n_steps + 1)
            async with aclosing(self._ask_model(tools)) as events:
                async for event in events:
                    yield event
            if not (self._step.calls and tools):
                return
            if self._step.text:
                yield TextRetracted(self._step.text)
            if self._step.finish == "length":
                refused_calls += 1
                if refused_calls > 1:
                    raise ModelError(
                        "The model's tool calls are cut off by its limit on the answer's length. "
                        "Raise the limit of the model server, or ask a shorter question."
                    )
                self._exchange += _refused(self._step)
                self._step = _Step()
                continue
            async with aclosing(self._use_tools()) as events:
                async for event in events:
                    yield event

    # --- Before a step -------------------------------------------------------------------------

    async def _recall(self) -> list[Source]:
        """Lays the prompt out; returns the sources that the conversation itself brought back."""
        history = await self._means.recall.recall(
            self._turn.question, budget_tokens=self._history_budget
        )
        self._history_tokens = history.n_tokens
        shown = [self._registry.add_earlier(one) for one in history.earlier.sources]
        self._prompt = self._laid_out(
            history, quote_earlier(history.earlier, shown) if history.earlier else ""
        )
        return [source for source, _ in shown]

    def _laid_out(self, history: History, earlier: str) -> list[Message]:
        prompt = build_prompt(
            self._turn.question,
            history,
            now=self._means.clock.now(),
            remembered=self._turn.remembered,
            summaries=quote_summaries(history.summaries) if history.summaries else "",
            earlier=earlier,
            session=self._turn.session,
        )
        return build_continuation(prompt, self._turn.answer) if self._turn.answer else prompt

    def _messages(self) -> list[Message]:
        return [*self._prompt, *self._exchange]

    def _prompt_tokens(self) -> int:
        count = self._means.count_tokens
        return sum(
            count(message.text) + sum(count(call.arguments) + 8 for call in message.tool_calls) + 4
            for message in self._messages()
        )

    def _allowed_tools(self) -> Sequence[ToolSpec] | None:
        """The tools of the next step: none for the last one; None when no step is left."""
        allowance = self._meter.allow_step(self._prompt_tokens())
        specs = self._means.toolbox.specs()
        if not allowance.may_run:
            self._said_limit = allowance.limit
            return None
        if not allowance.may_use_tools and specs:
            self._said_limit = allowance.limit
            return ()
        return specs

    def _exchange_has_note(self) -> bool:
        return bool(self._exchange) and self._exchange[-1] == limit_note(self._said_limit)

    # --- A step --------------------------------------------------------------------------------

    async def _ask_model(self, tools: Sequence[ToolSpec]) -> AsyncGenerator[AgentEvent, None]:
        """One model call, asked again with a shorter prompt when it was too long."""
        for _ in range(3):
            try:
                async with aclosing(self._stream(tools)) as events:
                    async for event in events:
                        yield event
                return
            except ContextTooLong:
                if self._step.text or self._history_tokens <= 0:
                    raise
                for source in await self._shrink():
                    yield SourceFound(source)
        raise ContextTooLong(
            "The conversation does not fit the model, even without its history. "
            "Ask in a new conversation, or use a model with a larger context."
        )

    async def _stream(self, tools: Sequence[ToolSpec]) -> AsyncGenerator[AgentEvent, None]:
        step, meter = self._step, self._meter
        prompt_tokens = self._prompt_tokens()
        names = frozenset(tool.name for tool in tools)
        output = OutputFilter(names, step=meter.n_steps)
        usage: Usage | None = None
        written = 0
        refused = False
        stream = self._means.model.stream(
            self._messages(), tools, max_tokens=meter.answer_tokens(prompt_tokens)
        )
        items = guarded(stream, stop=self._stop, seconds_left=meter.seconds_left)
        try:
            async with aclosing(items):
                async for item in items:
                    if isinstance(item, TextDelta):
                        written += len(item.text)
                        for event in self._heard(output.feed(item.text)):
                            yield event
                    elif isinstance(item, ToolCallMade):
                        step.calls.append(item.call)
                    elif isinstance(item, Finished):
                        step.finish, usage = item.reason, item.usage
            for event in self._heard(output.close(step.finish)):
                yield event
        except ContextTooLong:
            refused = True
            raise
        finally:
            if not refused:
                meter.add(usage or Usage(prompt_tokens, written // 3, estimated=True))

    def _heard(self, said: Sequence[OutputEvent]) -> list[AgentEvent]:
        """What the filter let through, as events; the rest is noted in the step."""
        step, told = self._step, list[AgentEvent]()
        for one in said:
            if isinstance(one, Visible):
                step.text += one.text
                told.append(TextAdded(one.text))
            elif isinstance(one, Retracted):
                step.text = ""
                told.append(TextRetracted())
            elif isinstance(one, CallInText):
                step.calls.append(one.call)
            elif isinstance(one, Followups):
                step.followups = one.questions
        return told

    async def _shrink(self) -> list[Source]:
        """Makes the prompt shorter: half of what the history took, then none of it."""
        small = self._history_budget < self._turn.history_budget_tokens
        self._history_budget = 0 if small else self._history_tokens // 2
        return await self._recall()

    async def _use_tools(self) -> AsyncGenerator[AgentEvent, None]:
        step = self._step
        self._exchange.append(
            Message(role="assistant", text=step.text, tool_calls=tuple(step.calls))
        )
        self._step = _Step()
        async with aclosing(self._gatherer.gather(step.calls)) as events:
            async for event in events:
                if isinstance(event, Message):
                    self._exchange.append(event)
                else:
                    yield event

    # --- The end -------------------------------------------------------------------------------

    async def _checked(self) -> AsyncGenerator[AgentEvent, None]:
        """A whole answer is held against its sources; one that was cut is not judged yet."""
        means = self._means
        if means.checking is None or self._outcome()[0] != "complete":
            return
        check = AnswerCheck(
            self._turn.question,
            self._turn.answer + self._step.text,
            self._registry.sources,
            checking=means.checking,
            model=means.model,
            meter=self._meter,
            stop=self._stop,
            count_tokens=means.count_tokens,
        )
        async with aclosing(check.events()) as events:
            async for event in events:
                yield event

    def _outcome(self) -> tuple[FinalStatus, str]:
        step = self._step
        has_text = bool(step.text.strip())
        if self._said_limit and not has_text and step.finish == "unknown":
            return self._over(self._said_limit)
        if step.finish == "length":
            if has_text:
                return "truncated", "The answer reached the limit on its length."
            return "truncated", "The model used its whole limit on thinking and wrote no answer."
        if step.finish == "content_filter":
            reason = "The model's server held back the rest of the answer."
            return ("truncated" if has_text else "failed"), reason
        if has_text:
            return "complete", ""
        if self._turn.answer:
            return "truncated", "The model added nothing to the answer."
        return "empty", "The model ended without writing an answer. Try again."

    def _over(self, limit: str) -> tuple[FinalStatus, str]:
        if self._step.text.strip():
            return "truncated", f"The answer was cut at this turn's limit of {limit}."
        return "failed", f"This turn's limit of {limit} was reached before there was an answer."

    def _finished(self, status: FinalStatus, reason: str) -> RunFinished:
        return RunFinished(
            status=status, reason=reason, usage=self._meter.usage, n_steps=self._meter.n_steps
        )


def _refused(step: _Step) -> list[Message]:
    """A step whose calls were cut off, each with the reason as its result."""
    calls = tuple(ToolCall(call.id, call.name, "{}") for call in step.calls)
    return [
        Message(role="assistant", text=step.text, tool_calls=calls),
        *(Message(role="tool", text=quote_error(CUT_CALL), tool_call_id=call.id) for call in calls),
    ]
