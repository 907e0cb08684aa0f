"""How much a model can read, as its server says.

OpenAI's list of models does not say it; the servers of others do, each in its own place. What a
server was started with counts, not what the model was trained for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

TIMEOUT_SECONDS = 2.0
SMALLEST = 1_000

# vLLM and SGLang; LM Studio; Groq; OpenRouter, Together and others.
_LISTED = ("max_model_len", "loaded_context_length", "context_window", "context_length")


async def context_tokens(
    base_url: str, model: str, key: str = "", *, timeout_seconds: float = TIMEOUT_SECONDS
) -> int | None:
    """The number of tokens, or None where the server does not say it. Never raises."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    root = base_url.rstrip("/").removesuffix("/v1")
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            httpx.AsyncClient(trust_env=False, headers=headers) as client,
        ):
            listed, props, loaded = await asyncio.gather(
                _json(client, f"{base_url.rstrip('/')}/models"),
                _json(client, f"{root}/props"),
                _json(client, f"{root}/api/ps"),
            )
    except TimeoutError:
        return None
    return _in_list(listed, model) or _in_props(props) or _in_loaded(loaded, model)


async def _json(client: httpx.AsyncClient, url: str) -> Mapping[str, Any]:
    try:
        response = await client.get(url)
        body = response.json() if response.status_code == 200 else {}
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _in_list(body: Mapping[str, Any], model: str) -> int | None:
    entry = _named(body.get("data"), "id", model)
    return next((size for name in _LISTED if (size := _size(entry.get(name)))), None)


def _in_props(body: Mapping[str, Any]) -> int | None:
    """llama.cpp: what one slot of the running server holds."""
    settings = body.get("default_generation_settings")
    return _size(settings.get("n_ctx")) if isinstance(settings, dict) else None


def _in_loaded(body: Mapping[str, Any], model: str) -> int | None:
    """Ollama: what the model was loaded with, which is less than what it could read."""
    return _size(_named(body.get("models"), "name", model).get("context_length"))


def _named(entries: Any, name: str, value: str) -> Mapping[str, Any]:
    found = entries if isinstance(entries, list) else []
    return next((one for one in found if isinstance(one, dict) and one.get(name) == value), {})


def _size(value: Any) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and value >= SMALLEST
    return value if known else None
