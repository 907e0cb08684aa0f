"""The tools that are offered, and calling one by name. A failure becomes a tool result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from chat.agent.arguments import parse_arguments
from chat.agent.errors import ToolError
from chat.agent.history_tool import SEARCH_HISTORY, history_query, history_spec
from chat.agent.memory_tools import MEMORY_TOOLS, about, memory_specs, use_memory
from chat.agent.ports import HistorySearch, MemoryFiles, PageReader, Searcher
from chat.agent.prompts import wording
from chat.agent.storable import storable
from chat.agent.values import HistoryHit, MemoryReply, Page, SearchOutcome, ToolCall, ToolSpec

WEB_SEARCH = "web_search"
SEARCH_LIBRARY = "search_library"
READ_PAGE = "read_page"

MAX_RESULTS = 8
MAX_QUERY_CHARS = 400


@dataclass(frozen=True, slots=True)
class Request:
    """A call whose arguments were understood. `subject` is what a person reads of it."""

    call: ToolCall
    subject: str
    start: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int] | None:
        """The same for calls that would give the same; None for what may change in between."""
        if self.call.name in MEMORY_TOOLS:
            return None
        what = self.subject
        if self.call.name == SEARCH_HISTORY:
            what = repr(history_query(self.arguments))
        return self.call.name, what.casefold(), self.start


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave nothing, in words for the model and the person."""

    reason: str


@dataclass(frozen=True, slots=True)
class HistoryReply:
    """What a search of the conversations found."""

    hits: tuple[HistoryHit, ...]


Reply = SearchOutcome | Page | MemoryReply | HistoryReply | Failure


class Toolbox:
    """The tools of one run. A tool whose port is missing is not offered."""

    def __init__(
        self,
        *,
        web: Searcher | None = None,
        library: Searcher | None = None,
        reader: PageReader | None = None,
        memory: MemoryFiles | None = None,
        history: HistorySearch | None = None,
    ) -> None:
        self._searchers: dict[str, Searcher] = {}
        if library:
            self._searchers[SEARCH_LIBRARY] = library
        if web:
            self._searchers[WEB_SEARCH] = web
        self._reader = reader
        self._memory = memory
        self._history = history

    def specs(self) -> tuple[ToolSpec, ...]:
        offered = [_spec(name, _QUERY, ["query"]) for name in self._searchers]
        if self._reader:
            offered.append(_spec(READ_PAGE, _ADDRESS, ["url"]))
        if self._history:
            offered.append(history_spec())
        if self._memory:
            offered += memory_specs()
        return tuple(offered)

    def understand(self, call: ToolCall) -> Request:
        """What the call asks for. Raises ToolError with words that help the model to mend it."""
        arguments = parse_arguments(call.arguments)
        if call.name in self._searchers:
            return Request(call, _query(arguments))
        if call.name == READ_PAGE and self._reader:
            return Request(call, _address(arguments), _start(arguments))
        if call.name in MEMORY_TOOLS and self._memory:
            return Request(call, about(call.name, arguments), arguments=arguments)
        if call.name == SEARCH_HISTORY and self._history:
            return Request(call, history_query(arguments).text, arguments=arguments)
        names = ", ".join(spec.name for spec in self.specs()) or "none"
        raise ToolError(f"There is no tool named {call.name[:80]!r}. The tools are: {names}.")

    async def answer(self, request: Request) -> Reply:
        """Runs the tool. Whatever the tool itself reports as failed comes back as a Failure."""
        try:
            if request.call.name == READ_PAGE and self._reader:
                return await self._reader.read(request.subject)
            if request.call.name in MEMORY_TOOLS and self._memory:
                return await use_memory(self._memory, request.call.name, request.arguments)
            if request.call.name == SEARCH_HISTORY and self._history:
                found = await self._history.search(history_query(request.arguments))
                return HistoryReply(tuple(found))
            searcher = self._searchers[request.call.name]
            return await searcher.search(request.subject, limit=MAX_RESULTS)
        except ToolError as error:
            return Failure(str(error))


_QUERY = {"query": {"type": "string", "description": "what to search for"}}
_ADDRESS = {
    "url": {"type": "string", "description": "the page's address, http or https"},
    "start": {"type": "integer", "description": "the character to read from; 0 to begin"},
}


def _spec(name: str, properties: Mapping[str, Any], required: list[str]) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(name, wording(name), schema)


def _query(arguments: Mapping[str, Any]) -> str:
    query = " ".join(storable(str(arguments.get("query") or "")).split())
    if not query:
        raise ToolError('The call needs a text, such as {"query": "density of ice"}.')
    return query[:MAX_QUERY_CHARS]


def _address(arguments: Mapping[str, Any]) -> str:
    url = storable(str(arguments.get("url") or "")).strip()
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        scheme = ""
    if scheme not in {"http", "https"} or len(url) > 2_000:
        raise ToolError("The call needs `url`: an address that begins with http:// or https://.")
    return url


def _start(arguments: Mapping[str, Any]) -> int:
    start = arguments.get("start")
    return start if isinstance(start, int) and start > 0 else 0
