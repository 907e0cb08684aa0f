"""The encoder of this installation, by its settings: none and not installed are normal states."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import httpx
from django.conf import settings

from memory.engine import default_embedder
from memory.engine.embedders.endpoint import EndpointEmbedder
from memory.engine.errors import EmbedderFailed
from memory.engine.ports import Embedder

_SECONDS = 30.0


def embedder() -> Embedder | None:
    """None where none is wanted or there. Raises EmbedderFailed where one is there and broken."""
    if settings.LUMINA_EMBEDDER == "default":
        return default_embedder()
    if settings.LUMINA_EMBEDDER != "endpoint":
        return None
    if not (settings.LUMINA_EMBEDDER_URL and settings.LUMINA_EMBEDDER_MODEL):
        raise EmbedderFailed("An embeddings endpoint needs an address and the name of its model.")
    return _endpoint(
        settings.LUMINA_EMBEDDER_URL,
        settings.LUMINA_EMBEDDER_MODEL,
        settings.LUMINA_EMBEDDER_DIMENSIONS,
        settings.LUMINA_EMBEDDER_KEY,
    )


@cache
def _endpoint(url: str, model: str, dimensions: int, key: str) -> Embedder:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    client = httpx.Client(headers=headers, timeout=_SECONDS, trust_env=False)

    def post(body: dict[str, Any]) -> bytes:
        try:
            answer = client.post(f"{url}/embeddings", content=json.dumps(body))
            return answer.raise_for_status().content
        except httpx.HTTPError as error:
            raise OSError(f"{type(error).__name__}") from error

    return EndpointEmbedder(model, dimensions, post)
