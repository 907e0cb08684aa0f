"""Vectors from an OpenAI-compatible embeddings endpoint: pooled, in whatever language it knows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from memory.engine.errors import EmbedderFailed
from memory.engine.ports import Embedding

Post = Callable[[dict[str, Any]], bytes]
"""Sends a request's body as JSON to the endpoint and returns the answer's; raises OSError."""
_BATCH = 64


class EndpointEmbedder:
    def __init__(self, model: str, dimensions: int, post: Post) -> None:
        self._model = model
        self._dimensions = dimensions
        self._post = post

    @property
    def name(self) -> str:
        return f"{self._model} {self._dimensions}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def knows(self, text: str) -> bool:
        return True

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> Sequence[Embedding]:
        """The context goes in front of its text: one vector is for both."""
        whole = [
            f"{before} {text}".strip() or "." for text, before in zip(texts, contexts, strict=True)
        ]
        found: list[Embedding] = []
        for start in range(0, len(whole), _BATCH):
            found += self._ask(whole[start : start + _BATCH])
        return found

    def encode_question(self, text: str) -> Embedding:
        return self._ask([text.strip() or "."])[0]

    def _ask(self, texts: Sequence[str]) -> list[Embedding]:
        try:
            answer = json.loads(self._post({"model": self._model, "input": list(texts)}))
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedderFailed(f"The embeddings endpoint gave no vectors: {error}") from error
        if vectors.shape != (len(texts), self._dimensions):
            raise EmbedderFailed(
                f"The embeddings endpoint gave {vectors.shape} numbers for {len(texts)} texts of "
                f"{self._dimensions}."
            )
        lengths = np.linalg.norm(vectors, axis=1)
        if not all(math.isfinite(length) and length > 0 for length in lengths.tolist()):
            raise EmbedderFailed("The embeddings endpoint gave vectors without a length.")
        return [Embedding(row / length) for row, length in zip(vectors, lengths, strict=True)]
