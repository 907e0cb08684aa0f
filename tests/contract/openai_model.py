"""Asking the adapter for OpenAI-compatible servers, in as few words as its tests need."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from chat.agent.errors import ModelError
from chat.agent.ports import ModelEvent
from chat.agent.values import Message, ToolCall, ToolSpec
from chat.providers.models.openai_compatible import OpenAICompatibleModel
from tests.servers.model_server import ModelServer

QUESTION = [Message(role="user", text="Why does ice float?")]
SEARCH = ToolSpec("web_search", "Searches.", {"type": "object", "properties": {}})
AFTER_A_CALL = [
    *QUESTION,
    Message(role="assistant", tool_calls=(ToolCall("c1", "web_search", '{"query": "ice'),)),
    Message(role="tool", text="Ice is light.", tool_call_id="c1"),
]


@contextlib.asynccontextmanager
async def model_of(server: ModelServer | str, **options) -> AsyncIterator[OpenAICompatibleModel]:
    url = server if isinstance(server, str) else server.url
    options = {"model": "scripted", "retry_wait_seconds": 0.01, **options}
    model = OpenAICompatibleModel(base_url=url, **options)
    try:
        yield model
    finally:
        await model.aclose()


async def events_of(model: OpenAICompatibleModel, messages=QUESTION, tools=()) -> list[ModelEvent]:
    return [event async for event in model.stream(messages, tools, max_tokens=64)]


async def ask(server: ModelServer, *turns, messages=QUESTION, tools=(), **options):
    server.play(*turns)
    async with model_of(server, **options) as model:
        return await events_of(model, messages, tools)


async def failure_of(server: ModelServer, *turns, **options) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(server, *turns, **options)
    return caught.value
