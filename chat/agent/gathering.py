"""Running the calls of one step at once, and telling them in the order they were made."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from chat.agent.errors import ToolError
from chat.agent.events import AgentEvent, SourceFound, ToolFinished, ToolStarted
from chat.agent.history_tool import told_hits
from chat.agent.limits import Meter
from chat.agent.ports import Clock, StopSignal
from chat.agent.quoting import quote_error, quote_history, quote_memory, quote_sources
from chat.agent.race import gathered
from chat.agent.sources import SourceRegistry, paragraphs
from chat.agent.tools import Failure, HistoryReply, Reply, Request, Toolbox
from chat.agent.values import MemoryReply, Message, Page, SearchOutcome, Source, Span, ToolCall

PAGE_CHARS = 8_000
MAX_CALLS = 8


class Gatherer:
    """Runs tool calls and numbers what they bring. Remembers what was already asked."""

    def __init__(
        self,
        toolbox: Toolbox,
        registry: SourceRegistry,
        clock: Clock,
        meter: Meter,
        stop: StopSignal,
    ) -> None:
        self._toolbox = toolbox
        self._registry = registry
        self._clock = clock
        self._meter = meter
        self._stop = stop
        self._asked: set[tuple[str, str, int]] = set()

    async def gather(self, calls: Sequence[ToolCall]) -> AsyncGenerator[AgentEvent | Message, None]:
        """Events as the calls start and end; then, in the order of the calls, the sources they
        found and the tool messages for the model: one for each call, whatever became of it."""
        requests = [self._request(call, index) for index, call in enumerate(calls)]
        running = [request for request in requests if isinstance(request, Request)]
        for one in running:
            yield ToolStarted(one.call.id, one.call.name, one.subject)
        replies: dict[int, Reply] = {}
        began = self._clock.monotonic()
        jobs = [self._toolbox.answer(one) for one in running]
        async with aclosing(
            gathered(jobs, stop=self._stop, seconds_left=self._meter.seconds_left)
        ) as done:
            async for index, reply in done:
                replies[id(running[index])] = reply
                yield _finished(running[index], reply, self._clock.monotonic() - began)
        for call, request in zip(calls, requests, strict=True):
            found = replies[id(request)] if isinstance(request, Request) else request
            sources, text = self._told(request, found)
            for source in sources:
                yield SourceFound(source)
            yield Message(role="tool", text=text, tool_call_id=call.id)

    def _request(self, call: ToolCall, index: int) -> Request | Failure:
        if index >= MAX_CALLS:
            return Failure(f"Only {MAX_CALLS} calls run in one step. Make this one again.")
        try:
            request = self._toolbox.understand(call)
        except ToolError as error:
            return Failure(str(error))
        if request.key in self._asked:
            return Failure("You have already made this call in this turn. Its result is above.")
        if request.key:
            self._asked.add(request.key)
        return request

    def _told(self, request: Request | Failure, reply: Reply) -> tuple[list[Source], str]:
        """The sources of a reply, now numbered, and what the model reads of it."""
        if isinstance(reply, Failure) or isinstance(request, Failure):
            reason = reply.reason if isinstance(reply, Failure) else ""
            return [], quote_error(reason)
        if isinstance(reply, MemoryReply):
            return [], quote_memory(reply.told)
        if isinstance(reply, HistoryReply):
            return [], quote_history(told_hits(reply.hits))
        if isinstance(reply, Page):
            return self._told_page(request, reply)
        return self._told_search(reply)

    def _told_search(self, outcome: SearchOutcome) -> tuple[list[Source], str]:
        shown: dict[int, tuple[Source, list[Span]]] = {}
        for result in outcome.results:
            if not result.text.strip():
                continue
            source, spans = self._registry.add_result(
                result, provider=outcome.provider, read_at=self._clock.now()
            )
            before = shown[source.number][1] if source.number in shown else []
            shown[source.number] = (source, [*before, *spans])
        note = "" if shown else "Nothing was found."
        text = quote_sources(shown.values(), passed_over=outcome.passed_over, note=note)
        return [source for source, _ in shown.values()], text

    def _told_page(self, request: Request, page: Page) -> tuple[list[Source], str]:
        source, whole = self._registry.add_page(page, asked_url=request.subject, provider="Page")
        spans, end = _part(source.text, whole, request.start)
        source = self._registry.show(source.number, spans)
        n_chars = whole.end - whole.start
        note = ""
        if end < n_chars:
            note = f"The page has {n_chars} characters; read on with start={end}."
        elif not spans:
            note = f"There is no text from there on: the page has {n_chars} characters."
        return [source], quote_sources([(source, spans)], note=note)


def _part(text: str, whole: Span, start: int) -> tuple[list[Span], int]:
    """The paragraphs of a page from `start` on that fit, and where they end in the page."""
    begin = min(whole.start + start, whole.end)
    limit = min(begin + PAGE_CHARS, whole.end)
    spans = paragraphs(text, begin, whole.end)
    kept = [span for span in spans if span.end <= limit]
    if not kept and spans:
        kept = [Span(spans[0].start, min(spans[0].end, limit))]
    end = kept[-1].end - whole.start if kept else whole.end - whole.start
    return kept, end


def _finished(request: Request, reply: Reply, seconds: float) -> ToolFinished:
    call = request.call
    if isinstance(reply, Failure):
        return ToolFinished(
            call=call.id, tool=call.name, seconds=round(seconds, 3), error=reply.reason
        )
    if isinstance(reply, MemoryReply):
        return ToolFinished(
            call=call.id, tool=call.name, seconds=round(seconds, 3), said=reply.said
        )
    if isinstance(reply, HistoryReply):
        return ToolFinished(
            call=call.id, tool=call.name, n_results=len(reply.hits), seconds=round(seconds, 3)
        )
    if isinstance(reply, Page):
        return ToolFinished(call=call.id, tool=call.name, n_results=1, seconds=round(seconds, 3))
    return ToolFinished(
        call=call.id,
        tool=call.name,
        n_results=len(reply.results),
        seconds=round(seconds, 3),
        provider=reply.provider,
        passed_over=tuple((one.provider, one.reason) for one in reply.passed_over),
    )
