"""The models, search engines and readers that runs share, kept by event loop."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

import httpx
from django.db import DatabaseError

from chat.accounts import stored
from chat.accounts.searching import LimitedSearcher
from chat.agent.ports import ChatModel, SearchProvider
from chat.agent.tools import Toolbox
from chat.clock import known_zone
from chat.database import in_database
from chat.library.language import language_of
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
from chat.remembering import RunMemory
from chat.searching_history import RunHistorySearch

if TYPE_CHECKING:
    from chat.providers.models.openai_compatible import OpenAICompatibleModel

settings = stored.Configured()

LOOK_AGAIN_SECONDS = 60.0
CONTEXT_TOKENS = 16_000


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
