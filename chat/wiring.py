"""Picks implementations from the settings and builds what a run needs. The only reader of agent
settings: everything else receives values."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import httpx
from asgiref.sync import async_to_sync
from django.db import DatabaseError

from chat import store
from chat.accounts import stored
from chat.accounts.searching import LimitedSearcher
from chat.agent.checking import Checking
from chat.agent.limits import Limits
from chat.agent.loop import Means, Turn
from chat.agent.ports import ChatModel, SearchProvider
from chat.agent.prompts import system_text
from chat.agent.tools import Toolbox
from chat.agent.values import Remembered, Source
from chat.database import in_database
from chat.library.language import language_of
from chat.metrics import Access
from chat.models import Run
from chat.providers.fetch import GuardedReader
from chat.providers.models.context_size import context_tokens
from chat.providers.models.discovery import find_local_model
from chat.providers.models.extractive import ExtractiveAnswerer
from chat.providers.search.brave import BraveProvider
from chat.providers.search.failover import FailoverSearcher
from chat.providers.search.keyless import KeylessProvider
from chat.providers.search.library import LibraryProvider
from chat.providers.search.searxng import SearxngProvider
from chat.providers.search.service import search_client
from chat.providers.search.tavily import TavilyProvider
from chat.providers.search.wikipedia import WikipediaProvider
from chat.recall import ConversationRecall, WindowRule
from chat.remembering import Notes, RunMemory, notes_at_start
from chat.searching_history import RunHistorySearch
from chat.session import session_text
from chat.summarising import ModelSummariser
from chat.support import RenderedCitations, WordChecker
from memory.service import SummaryLimits, count_tokens, without_secrets

if TYPE_CHECKING:
    from chat.providers.models.openai_compatible import OpenAICompatibleModel

settings = stored.Configured()

LOOK_AGAIN_SECONDS = 60.0
CONTEXT_TOKENS = 16_000
HISTORY_SHARE = 0.5
MEMORY_SHARE = 0.125
SUMMARY_SHARE, SUMMARY_CHUNK_TOKENS, SUMMARY_ANSWER_TOKENS = 0.5, 6_000, 2_048

EXAMPLES = (
    "Why does ice float?",
    "¿Por qué flota el hielo?",
    "How many moons does Saturn have?",
    "Warum werden Blätter im Herbst bunt?",
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run, ready to go: what is asked, and with what."""

    turn: Turn
    means: Means
    recall: ConversationRecall

    def receipt(self) -> Mapping[str, Any]:
        return self.recall.receipt


async def prepare_run(run: Run) -> Prepared:
    services().catch_up(await in_database(stored.refresh)())
    answer = ""
    sources: Sequence[Source] = ()
    if run.continues:
        answer, sources = await in_database(store.cut_answer)(run)
    clock = ZoneClock(known_zone(run.time_zone, run.owner.time_zone, settings.TIME_ZONE))
    model = await services().model()
    context = services().context_tokens
    notes = await in_database(_notes)(run, context)
    session = await in_database(session_text)(run.conversation)
    beside = {"files": list(notes.shown), "session_tokens": count_tokens(session)}
    recall = ConversationRecall(run, window_rule(), clock.now(), beside=beside)
    turn = Turn(
        question=run.question.text,
        history_budget_tokens=_history_budget(run.question.text, context),
        answer=answer,
        sources=sources,
        remembered=_remembered(notes, context),
        session=session,
    )
    means = Means(
        model=model,
        toolbox=services().toolbox(run),
        recall=recall,
        clock=clock,
        limits=Limits(
            max_steps=settings.LUMINA_MAX_STEPS,
            max_tokens=settings.LUMINA_MAX_TOKENS,
            max_seconds=settings.LUMINA_MAX_SECONDS,
            answer_tokens=settings.LUMINA_ANSWER_TOKENS,
        ),
        count_tokens=count_tokens,
        checking=_checking(model) if settings.LUMINA_CHECK_ANSWERS else None,
    )
    return Prepared(turn, means, recall)


def _checking(model: ChatModel) -> Checking:
    """What only quotes cannot put a sentence in other words: its answers are checked alone."""
    return Checking(
        reader=RenderedCitations(),
        checker=WordChecker(),
        screen=without_secrets,
        repairs=not isinstance(model, ExtractiveAnswerer),
    )


def _notes(run: Run, context_tokens: int) -> Notes:
    room = int(MEMORY_SHARE * context_tokens)
    return notes_at_start(run, min(settings.LUMINA_MEMORY_FILES_TOKENS, room))


def _remembered(notes: Notes, context_tokens: int) -> Remembered:
    return Remembered(
        start=notes.start,
        skills=notes.skills,
        window_messages=settings.LUMINA_WINDOW_MESSAGES,
        window_tokens=int(settings.LUMINA_WINDOW_SHARE * _history_budget("", context_tokens)),
    )


def system_now(history_tokens: int) -> str:
    """The system text as it reads now beside a history of so many tokens, without memory files."""
    share = settings.LUMINA_WINDOW_SHARE
    window_messages = settings.LUMINA_WINDOW_MESSAGES
    return system_text(
        Remembered(window_messages=window_messages, window_tokens=int(share * history_tokens))
    )


def window_rule() -> WindowRule:
    return WindowRule(newest=settings.LUMINA_WINDOW_MESSAGES, share=settings.LUMINA_WINDOW_SHARE)


def _history_budget(question: str, context_tokens: int) -> int:
    """History gets its own limit, or half of what the model can take beside the question."""
    room = int(HISTORY_SHARE * context_tokens) - count_tokens(question)
    return max(0, min(settings.LUMINA_HISTORY_TOKENS, room))


# --- Summaries ----------------------------------------------------------------------------------


def summary_limits() -> SummaryLimits:
    """A model gets no more to read at a time than half of what it can take, and may write a
    quarter: more than a summary needs, as it may think first."""
    context = settings.LUMINA_MODEL_CONTEXT_TOKENS or CONTEXT_TOKENS
    most = int(SUMMARY_SHARE * context)
    return SummaryLimits(
        spans=settings.LUMINA_SUMMARY_SPANS,
        tokens=settings.LUMINA_SUMMARY_TOKENS,
        chunk_tokens=min(SUMMARY_CHUNK_TOKENS, most),
        answer_tokens=min(SUMMARY_ANSWER_TOKENS, most // 2),
        seconds=settings.LUMINA_SUMMARY_SECONDS,
    )


def summariser() -> ModelSummariser | None:
    """The model that also answers; None where that is the built-in answerer, which only quotes."""
    model, _ = async_to_sync(_model_apart)()
    if isinstance(model, ExtractiveAnswerer):
        return None
    return ModelSummariser(model.name, settings.LUMINA_SUMMARY_SECONDS, _model_apart)


async def _model_apart() -> tuple[ChatModel, Callable[[], Awaitable[None]]]:
    """The model with connections of its own, and what closes them: background work has an event
    loop for one call only."""
    own = Services()
    return await own.model(), own.close


# --- The outside services -----------------------------------------------------------------------


@runtime_checkable
class Closing(Protocol):
    async def aclose(self) -> None: ...


class Services:
    """The models and search engines of one event loop: connections and rests are kept here."""

    def __init__(self) -> None:
        self._model: ChatModel | None = None
        self._looked_at = 0.0
        self._said_context: int | None = None
        self._version = 0

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        return search_client(settings.LUMINA_SEARCH_TIMEOUT_SECONDS)

    @cached_property
    def _web(self) -> FailoverSearcher | None:
        if not settings.LUMINA_WEB:
            return None
        providers = [self.provider(name) for name in settings.LUMINA_SEARCH_PROVIDERS]
        return FailoverSearcher(
            [one for one in providers if one],
            timeout_seconds=settings.LUMINA_SEARCH_TIMEOUT_SECONDS,
        )

    @cached_property
    def _reader(self) -> GuardedReader | None:
        if not settings.LUMINA_WEB:
            return None
        return GuardedReader(
            allowed_hosts=settings.LUMINA_FETCH_ALLOWED_HOSTS,
            timeout_seconds=settings.LUMINA_FETCH_TIMEOUT_SECONDS,
            max_bytes=settings.LUMINA_FETCH_MAX_BYTES,
        )

    def toolbox(self, run: Run) -> Toolbox:
        library = FailoverSearcher(
            [LibraryProvider(run.owner_id, run.conversation.folder_id)],
            timeout_seconds=settings.LUMINA_SEARCH_TIMEOUT_SECONDS,
        )
        zone = ZoneInfo(known_zone(run.time_zone, run.owner.time_zone, settings.TIME_ZONE))
        return Toolbox(
            web=self._web and LimitedSearcher(self._web, run.owner_id, run.address),
            library=LimitedSearcher(library, run.owner_id, run.address),
            reader=self._reader,
            memory=RunMemory(run),
            history=RunHistorySearch(run, zone),
        )

    async def model(self) -> ChatModel:
        """The configured model; else one found on this machine; else the built-in answerer.

        Without a configured one the machine is looked at again once in a while.
        """
        fresh = time.monotonic() - self._looked_at < LOOK_AGAIN_SECONDS
        if self._model is None or not (fresh or settings.LUMINA_MODEL_URL):
            self._model = await self._choose_model(self._model)
            self._looked_at = time.monotonic()
        elif not fresh:
            # A local server may have loaded the model with another size since.
            self._looked_at = time.monotonic()
            await self._look_at_context(settings.LUMINA_MODEL_URL, settings.LUMINA_MODEL)
        return self._model

    @property
    def context_tokens(self) -> int:
        """How much the model can read: as set, as its server said, or a cautious guess."""
        return settings.LUMINA_MODEL_CONTEXT_TOKENS or self._said_context or CONTEXT_TOKENS

    async def _look_at_context(self, base_url: str, model: str) -> None:
        if not settings.LUMINA_MODEL_CONTEXT_TOKENS:
            key = settings.LUMINA_MODEL_KEY
            self._said_context = await context_tokens(base_url, model, key)

    async def _choose_model(self, before: ChatModel | None) -> ChatModel:
        if settings.LUMINA_MODEL_URL:
            await self._look_at_context(settings.LUMINA_MODEL_URL, settings.LUMINA_MODEL)
            return remote_model(settings.LUMINA_MODEL_URL, settings.LUMINA_MODEL)
        if settings.LUMINA_MODEL_DISCOVERY:
            found = await find_local_model()
            if found:
                await self._look_at_context(found.base_url, found.model)
            if found and before and before.name == found.model:
                return before
            if found:
                return remote_model(found.base_url, found.model)
        return ExtractiveAnswerer()

    def catch_up(self, version: int) -> None:
        """Begins anew after stored settings have changed. Runs under way keep what they have."""
        if version != self._version:
            for name in ("_client", "_web"):
                self.__dict__.pop(name, None)
            self._model, self._said_context = None, None
            self._looked_at, self._version = 0.0, version

    async def close(self) -> None:
        if "_client" in self.__dict__:
            await self._client.aclose()
        if isinstance(self._model, Closing):
            await self._model.aclose()

    def provider(self, name: str) -> SearchProvider | None:
        """The provider of that name, or None when its key or address is not set."""
        client = self._client
        if name == "searxng" and settings.LUMINA_SEARXNG_URL:
            return SearxngProvider(base_url=settings.LUMINA_SEARXNG_URL, client=client)
        if name == "tavily" and settings.LUMINA_TAVILY_KEY:
            return TavilyProvider(
                key=settings.LUMINA_TAVILY_KEY, base_url=settings.LUMINA_TAVILY_URL, client=client
            )
        if name == "brave" and settings.LUMINA_BRAVE_KEY:
            return BraveProvider(
                key=settings.LUMINA_BRAVE_KEY, base_url=settings.LUMINA_BRAVE_URL, client=client
            )
        if name == "keyless":
            return KeylessProvider(timeout_seconds=settings.LUMINA_SEARCH_TIMEOUT_SECONDS)
        if name == "wikipedia" and settings.LUMINA_WIKIPEDIA_URL:
            return WikipediaProvider(
                base_url=settings.LUMINA_WIKIPEDIA_URL, client=client, language_of=language_of
            )
        return None


def remote_model(base_url: str, model: str) -> OpenAICompatibleModel:
    # Imported late: the client takes half a second, which a command without a model need not pay.
    from chat.providers.models.openai_compatible import OpenAICompatibleModel

    return OpenAICompatibleModel(
        base_url=base_url,
        model=model,
        api_key=settings.LUMINA_MODEL_KEY,
        timeout_seconds=settings.LUMINA_MODEL_TIMEOUT_SECONDS,
    )


_services: dict[asyncio.AbstractEventLoop, Services] = {}


def services() -> Services:
    """Those of the running event loop: a connection cannot be used from another one."""
    loop = asyncio.get_running_loop()
    for gone in [one for one in _services if one.is_closed()]:
        del _services[gone]
    if loop not in _services:
        _services[loop] = Services()
    return _services[loop]


async def warm_up() -> None:
    """Does beside the server's start what the first question would wait for."""
    with suppress(DatabaseError):  # a database that is not ready is told of elsewhere
        services().catch_up(await in_database(stored.refresh)())
    await asyncio.to_thread(import_module, "chat.providers.models.openai_compatible")
    await services().model()


async def close_services() -> None:
    """Closes the connections of the running event loop, at its end."""
    mine = _services.pop(asyncio.get_running_loop(), None)
    if mine:
        await mine.close()


# --- What the pages ask -------------------------------------------------------------------------


def examples() -> Sequence[str]:
    """Questions that the sample library answers without a network."""
    return EXAMPLES


def question_max_chars() -> int:
    return settings.LUMINA_QUESTION_MAX_CHARS


async def _model_name() -> str:
    return (await services().model()).name


def model_label() -> str:
    """What the box under the question says of the model."""
    if settings.LUMINA_MODEL_URL:
        return settings.LUMINA_MODEL or "Model"
    return async_to_sync(_model_name)()


# --- What operators ask -------------------------------------------------------------------------


def metrics_access() -> Access:
    return Access(settings.LUMINA_METRICS, settings.LUMINA_METRICS_TOKEN)


# --- What the self-check asks -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """The configured model; without an address, whether one is looked for on this machine."""

    base_url: str
    model: str
    looks_for_one: bool


def model_setup() -> ModelSetup:
    return ModelSetup(
        settings.LUMINA_MODEL_URL, settings.LUMINA_MODEL, settings.LUMINA_MODEL_DISCOVERY
    )


def search_names() -> Sequence[str]:
    """The engines that are tried, in order; none where the web is off."""
    return settings.LUMINA_SEARCH_PROVIDERS if settings.LUMINA_WEB else ()


def bind_address() -> str:
    return settings.LUMINA_BIND


def secrets_in_use() -> list[str]:
    """What must be in no text that is shown: keys, and passwords inside of addresses."""
    addresses = [
        settings.REDIS_URL,
        settings.LUMINA_MODEL_URL,
        settings.LUMINA_SEARXNG_URL,
        settings.LUMINA_TAVILY_URL,
        settings.LUMINA_BRAVE_URL,
    ]
    return [
        settings.SECRET_KEY,
        settings.LUMINA_MODEL_KEY,
        settings.LUMINA_TAVILY_KEY,
        settings.LUMINA_BRAVE_KEY,
        settings.LUMINA_METRICS_TOKEN,
        settings.EMAIL_HOST_PASSWORD,
        str(settings.DATABASES["default"].get("PASSWORD") or ""),
        *(urlsplit(address).password or "" for address in addresses),
    ]


# --- Time ---------------------------------------------------------------------------------------


class ZoneClock:
    """The machine's clock, in a person's zone."""

    def __init__(self, zone: str) -> None:
        self.zone = ZoneInfo(zone)

    def now(self) -> datetime:
        return datetime.now(self.zone)

    def monotonic(self) -> float:
        return time.monotonic()


def known_zone(*names: str) -> str:
    """The first of these names that is a time zone, else UTC."""
    for name in names:
        try:
            return ZoneInfo(name).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return "UTC"
