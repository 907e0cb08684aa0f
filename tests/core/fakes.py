"""Fakes at the agent's ports, for tests of the core. Nothing here waits or reaches out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from chat.agent.errors import AgentError, MemoryRefused, SearchFailed
from chat.agent.events import AgentEvent
from chat.agent.limits import Limits
from chat.agent.loop import Means, Turn, run_turn
from chat.agent.ports import Finished, FinishReason, ModelEvent, TextDelta, ToolCallMade
from chat.agent.tools import Toolbox
from chat.agent.values import (
    Earlier,
    History,
    HistoryHit,
    HistoryQuery,
    MemoryReply,
    Message,
    Page,
    SearchOutcome,
    SearchResult,
    SummaryText,
    ToolCall,
    ToolSpec,
    Usage,
)

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)

Reply = Sequence[ModelEvent | AgentError | float]


def say(*pieces: str, finish: FinishReason = "stop", usage: Usage | None = None) -> Reply:
    return [*(TextDelta(piece) for piece in pieces), Finished(finish, usage)]


def use(*calls: tuple[str, str], text: str = "", finish: FinishReason = "tool_calls") -> Reply:
    """A step that calls tools, each a name with its raw arguments."""
    before: list[Any] = [TextDelta(text)] if text else []
    made = [
        ToolCallMade(ToolCall(f"call-{name}-{index}", name, arguments))
        for index, (name, arguments) in enumerate(calls)
    ]
    return [*before, *made, Finished(finish)]


def search(*queries: str, tool: str = "web_search", text: str = "") -> Reply:
    return use(*((tool, f'{{"query": "{query}"}}') for query in queries), text=text)


class ScriptedModel:
    """Plays one reply a step; remembers what it was sent and how often it was closed early."""

    name = "scripted"

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.prompts: list[list[Message]] = []
        self.offered: list[tuple[str, ...]] = []
        self.closed_early = 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, max_tokens: int
    ) -> AsyncGenerator[ModelEvent, None]:
        self.prompts.append(list(messages))
        self.offered.append(tuple(tool.name for tool in tools))
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        try:
            for one in reply:
                if isinstance(one, AgentError):
                    raise one
                if isinstance(one, float):
                    await asyncio.sleep(one)
                else:
                    yield one
        except (GeneratorExit, asyncio.CancelledError):
            self.closed_early += 1
            raise


class FakeSearcher:
    """Finds what `found` says for a query; a delay by query shows the order of completion."""

    def __init__(
        self,
        found: Callable[[str], Sequence[SearchResult]] | None = None,
        delays: dict[str, float] | None = None,
        fails: str = "",
    ) -> None:
        self._found = found or (lambda query: [result(query)])
        self._delays = delays or {}
        self._fails = fails
        self.queries: list[str] = []

    async def search(self, query: str, *, limit: int) -> SearchOutcome:
        self.queries.append(query)
        await asyncio.sleep(self._delays.get(query, 0))
        if self._fails:
            raise SearchFailed(self._fails)
        return SearchOutcome(provider="Fake", results=self._found(query)[:limit])


class FakeReader:
    def __init__(self, text: str = "A page about ice.") -> None:
        self._text = text
        self.urls: list[str] = []

    async def read(self, url: str) -> Page:
        self.urls.append(url)
        return Page(url=url, title="A page", text=self._text, read_at=NOON)


class FakeRecall:
    def __init__(
        self,
        *messages: Message,
        n_total: int | None = None,
        earlier: Earlier | None = None,
        summaries: Sequence[SummaryText] = (),
    ) -> None:
        self._messages = messages
        self._earlier = earlier or Earlier()
        self._summaries = summaries
        self._n_total = len(messages) if n_total is None else n_total
        self.budgets: list[int] = []

    async def recall(self, question: str, *, budget_tokens: int) -> History:
        self.budgets.append(budget_tokens)
        kept = self._messages if budget_tokens else ()
        return History(
            summaries=self._summaries,
            messages=kept,
            earlier=self._earlier if budget_tokens else Earlier(),
            n_visible=len(kept),
            n_total=self._n_total,
            n_tokens=budget_tokens if self._messages or self._earlier else 0,
        )


class FakeMemory:
    """Notes in a dictionary; every call is remembered. Paths with ".." are refused."""

    def __init__(self, **texts: str) -> None:
        self.texts = dict(texts)
        self.calls: list[tuple[Any, ...]] = []

    async def list_files(self) -> MemoryReply:
        self.calls.append(("list",))
        return MemoryReply(told={"files": sorted(self.texts)}, said="Looked")

    async def read(self, path: str, *, start_line: int) -> MemoryReply:
        self.calls.append(("read", path, start_line))
        return MemoryReply(told={"text": self.texts.get(path, "")}, said=f"Read {path}")

    async def write(self, path: str, text: str, *, replaces: str, quote: str) -> MemoryReply:
        self.calls.append(("write", path, text, replaces, quote))
        if ".." in path:
            raise MemoryRefused("No such place.")
        self.texts[path] = text
        return MemoryReply(told={"saved": True}, said=f"Saved to {path}")

    async def forget(self, path: str, text: str, *, quote: str) -> MemoryReply:
        self.calls.append(("forget", path, text, quote))
        return MemoryReply(told={"state": "forgotten"}, said=f"Forgotten: {path}")


class FakeHistory:
    """Finds the same messages for every query, and remembers what it was asked."""

    def __init__(self, *hits: HistoryHit) -> None:
        self._hits = hits
        self.queries: list[HistoryQuery] = []

    async def search(self, query: HistoryQuery) -> Sequence[HistoryHit]:
        self.queries.append(query)
        return self._hits[: query.limit]


class FakeClock:
    """Stands still unless told; `step` seconds go by with every look."""

    def __init__(self, step: float = 0.0) -> None:
        self._step = step
        self._seconds = 0.0

    def now(self) -> datetime:
        return NOON

    def monotonic(self) -> float:
        self._seconds += self._step
        return self._seconds


def result(about: str, *, url: str = "", text: str = "") -> SearchResult:
    slug = "-".join(about.split())
    return SearchResult(
        title=about.capitalize(),
        url=url or f"https://example.org/{slug}",
        text=text or f"All about {about}.",
    )


def means(model: ScriptedModel, **changed: Any) -> Means:
    given: dict[str, Any] = {
        "model": model,
        "toolbox": Toolbox(web=FakeSearcher(), library=FakeSearcher(), reader=FakeReader()),
        "recall": FakeRecall(),
        "clock": FakeClock(),
        "limits": Limits(),
        "count_tokens": lambda text: len(text) // 4 + 1,
    }
    return Means(**(given | changed))


async def events_of(
    model: ScriptedModel,
    *,
    question: str = "Why does ice float?",
    stop: asyncio.Event | None = None,
    turn: Turn | None = None,
    **changed: Any,
) -> list[AgentEvent]:
    turn = turn or Turn(question=question, history_budget_tokens=1_000)
    return [
        event async for event in run_turn(turn, means(model, **changed), stop or asyncio.Event())
    ]


def answer_of(events: Sequence[AgentEvent]) -> str:
    """What is left of the text when retractions are taken into account."""
    text, begin = "", 0
    for event in events:
        if event.type == "step_started":
            begin = len(text)
        elif event.type == "text_added":
            text += event.text  # type: ignore[union-attr]
        elif event.type == "text_retracted":
            text = text[:begin]
    return text
