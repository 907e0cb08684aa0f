"""Any OpenAI-compatible server as a ChatModel.

What such servers do differently is learnt from their refusals, once, and kept for the life of
the object: no `stream_options`, no tools, another name for `max_tokens`. A request is repeated
only while nothing has been received: without what was refused, or once after a refused or dropped
connection or a 503. Nobody else retries. Neither the key nor a word of a message is ever logged.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import httpx2
import openai

from chat.agent.errors import ModelError, ModelGarbled, ModelRefused, ModelUnavailable
from chat.agent.ports import ModelEvent
from chat.agent.values import Message, ToolSpec
from chat.providers.models.event_stream import EventReader
from chat.providers.models.openai_errors import (
    Address,
    Fault,
    from_connection,
    from_fault,
    is_broken_connection,
)
from chat.providers.models.openai_messages import (
    chat_messages,
    chat_tools,
    field,
    told_messages,
)
from chat.providers.models.openai_reading import Reading, joined, parsed
from chat.providers.models.paced import bursts, pace_of, paced_client

logger = logging.getLogger("lumina.models")

CONNECT_SECONDS = 10.0
RETRY_WAIT_SECONDS = 0.5
# Usage comes after the finish reason. A server that then keeps silent must not hold the answer.
AFTER_FINISH_SECONDS = 2.0
LIST_SECONDS = 2.0

_NO_TOOLS = re.compile(
    r"\btools?\b.{0,80}(not (support|available|enabled|permitted|allowed)|unsupported|requires?)"
    r"|(not support|unsupported|unrecognized|unknown|extra|requires?|endpoints)\b.{0,80}\btools?\b"
    r"|body\.tools|function calling.{0,40}not|enable-auto-tool-choice",
    re.DOTALL,
)

# The client would otherwise fill these from variables of the environment.
_OMITTED_HEADERS: Any = {
    "OpenAI-Organization": openai.Omit(),
    "OpenAI-Project": openai.Omit(),
}
_FAILURES = (openai.OpenAIError, httpx2.HTTPError, ValueError, RecursionError)


class OpenAICompatibleModel:
    """One model of one server. Keep it as long as the process: it remembers what the server lacks.

    `base_url` usually ends in /v1. `timeout_seconds` is the longest silence, before the first
    token and between any two. `http_client` takes the place of the client's own; whoever gives
    it closes it.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str = "",
        timeout_seconds: float = 120.0,
        connect_seconds: float = CONNECT_SECONDS,
        retry_wait_seconds: float = RETRY_WAIT_SECONDS,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self._base_url, self._model, self._key = base_url, model, api_key
        self._address = Address.of(base_url, model, api_key)
        self._timeout = httpx2.Timeout(timeout_seconds, connect=connect_seconds)
        self._timeout_seconds = timeout_seconds
        self._retry_wait_seconds = retry_wait_seconds
        self._given_http = http_client
        self._client: openai.AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lacks: set[str] = set()
        self._n_streams = 0

    @property
    def name(self) -> str:
        return self._model

    @property
    def accepts_tools(self) -> bool:
        """False once the server has refused a request because of its tools."""
        return "tools" not in self._lacks

    async def aclose(self) -> None:
        if self._client is not None and self._given_http is None:
            await self._client.close()
        self._client = None

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, max_tokens: int
    ) -> AsyncGenerator[ModelEvent, None]:
        """See the port. A server without tools is asked without them and answers in text."""
        may_retry, began = True, False
        while True:
            request = self._request(messages, tools, max_tokens)
            try:
                async with aclosing(self._attempt(request)) as events:
                    async for event in events:
                        began = True
                        yield event
                return
            except _FAILURES as error:
                if not began and self._learn(error, request):
                    continue
                if began or not may_retry or not _is_passing(error):
                    raise await self._translated(error, began=began) from error
            may_retry = False
            await asyncio.sleep(self._retry_wait_seconds)

    # --- Asking -----------------------------------------------------------------------------

    def _request(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], max_tokens: int
    ) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in self._lacks else "max_tokens"
        request: dict[str, Any] = {
            "model": self._model,
            "messages": (
                chat_messages(messages) if self.accepts_tools else told_messages(messages, tools)
            ),
            limit: max_tokens,
        }
        if "stream_options" not in self._lacks:
            request["stream_options"] = {"include_usage": True}
        if tools and self.accepts_tools:
            request["tools"] = chat_tools(tools)
        return request

    async def _attempt(self, request: dict[str, Any]) -> AsyncGenerator[ModelEvent, None]:
        asked = self._connected().chat.completions.with_streaming_response
        reading = Reading()
        self._n_streams += 1
        try:
            async with asked.create(**request, stream=True) as answer:
                response = answer.http_response
                await self._check_type(response)
                async with aclosing(_chunks(response, reading)) as bursts_of_chunks:
                    async for chunks in bursts_of_chunks:
                        for event in joined(reading.read(chunks)):
                            yield event
                        reading.raise_fault(response)
        finally:
            self._n_streams -= 1
        if reading.is_empty:
            raise ModelGarbled(f"The model server at {self._address.url} ended without an answer.")
        for event in reading.end():
            yield event

    async def _check_type(self, response: httpx2.Response) -> None:
        """Some servers send an error, a page, or a whole answer at once with status 200."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            body = _json(await response.aread())
            error = body.get("error") if isinstance(body, dict) else None
            if error:
                raise from_fault(Fault.read(error), self._address)
        if kind in {"application/json", "text/html"}:
            raise ModelGarbled(
                f"The server at {self._address.url} answered with {kind} instead of a stream of "
                "events. Check that LUMINA_MODEL_URL is the address of a model server."
            )

    def _connected(self) -> openai.AsyncOpenAI:
        """One client for each event loop: connections cannot move from one loop to another."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = openai.AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key or "none",
                max_retries=0,
                timeout=self._timeout,
                http_client=self._given_http or self._new_http(),
                default_headers=_OMITTED_HEADERS,
            )
        return self._client

    def _new_http(self) -> httpx2.AsyncClient:
        return paced_client(
            lambda: pace_of(self._n_streams),
            timeout=self._timeout,
            is_near=_is_near(self._address.host),
        )

    # --- When it fails ----------------------------------------------------------------------

    def _learn(self, error: Exception, request: dict[str, Any]) -> bool:
        """Whether the server refused a part of the request that it can be asked without."""
        if not isinstance(error, openai.APIError) or isinstance(error, openai.APIConnectionError):
            return False
        part = _refused_part(Fault.of(error))
        if part not in request:
            return False
        self._lacks.add(part)
        logger.warning("%s does not take %s: going on without", self._address.url, part)
        return True

    async def _translated(self, error: Exception, *, began: bool) -> ModelError:
        if isinstance(error, openai.APIConnectionError):
            return from_connection(
                error, self._address, began=began, timeout_seconds=self._timeout_seconds
            )
        if isinstance(error, openai.APIError):
            fault = Fault.of(error)
            is_about_the_name = fault.status == 404 or fault.is_unknown_model
            offered = await self.offered() if is_about_the_name else None
            return from_fault(fault, self._address, offered)
        if isinstance(error, UnicodeEncodeError):
            return ModelRefused("The key holds characters that cannot be sent. Check it.")
        if isinstance(error, (ValueError, RecursionError)):
            return ModelGarbled(
                f"The server at {self._address.url} sent something that is not a model's answer. "
                "Check LUMINA_MODEL_URL, and what the server's own log says."
            )
        return ModelUnavailable(f"The model server at {self._address.url} cannot be asked.")

    async def offered(self) -> list[str] | None:
        """The models that the server lists; None if it lists none in the usual way."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                listed = await self._connected().models.list()
        except (TimeoutError, *_FAILURES):
            return None
        models = field(listed, "data")
        return [str(field(m, "id")) for m in models] if isinstance(models, list) else None


def _is_passing(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    if isinstance(error, openai.APIConnectionError):
        return not isinstance(error, openai.APITimeoutError) and is_broken_connection(error)
    return isinstance(error, openai.APIStatusError) and error.status_code == 503


def _refused_part(fault: Fault) -> str:
    """The name of the request's part that a refusal is about, or nothing."""
    if fault.status not in {400, 404, 422, 500, 501}:
        return ""
    if "stream_options" in fault.words or "include_usage" in fault.words:
        return "stream_options"
    if "max_completion_tokens" in fault.words and "unsupported" in fault.words:
        return "max_tokens"
    return "tools" if _NO_TOOLS.search(fault.words) else ""


def _is_near(host: str) -> bool:
    """On this machine or its network, where a proxy from the environment would be in the way."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost", ".lan"))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


async def _chunks(response: httpx2.Response, reading: Reading) -> AsyncGenerator[list[Any], None]:
    """What the events hold, those that came together in one list. Once the model has finished,
    whatever goes wrong or takes long ends the stream; what follows the last event is read past, so
    that the connection can be kept."""
    events = EventReader()
    async with aclosing(bursts(response.aiter_bytes())) as received:
        while True:
            try:
                async with asyncio.timeout(AFTER_FINISH_SECONDS if reading.is_finished else None):
                    data = await _next(received)
            except (TimeoutError, *_FAILURES):
                if reading.is_finished:
                    return
                raise
            yield parsed(events.feed(data) if data else events.close())
            if not data:
                return


async def _next(received: AsyncGenerator[bytes, None]) -> bytes:
    """The next bytes; none at the end. Faults of the connection in the client's own words."""
    try:
        return await anext(received, b"")
    except httpx2.TimeoutException as error:
        raise openai.APITimeoutError(error.request) from error
    except httpx2.RequestError as error:
        raise openai.APIConnectionError(request=error.request) from error
