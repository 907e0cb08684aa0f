"""What the engine asks of the world: vectors of texts. Implementations are in `embedders`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import Floats

TOKEN_SCALE = 320.0
"""A component of a unit vector of hundreds of dimensions is rarely above 0.4: so it fits a byte."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """`pooled`: one vector of length 1 for the text. `tokens`: one for each of its tokens, of
    length 1 too, or None where the encoder gives none. `words`: the word of the text that each
    token is of, in the same order."""

    pooled: Floats
    tokens: NDArray[np.float32] | None = None
    words: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """To be kept: half precision for the pooled vector, a byte a component for the tokens."""
        tokens = self.tokens if self.tokens is not None else np.zeros((0, len(self.pooled)))
        kept = np.clip(np.rint(tokens * TOKEN_SCALE), -127, 127).astype(np.int8)
        head = np.array([len(self.pooled), len(kept)], np.int32)
        return head.tobytes() + self.pooled.astype(np.float16).tobytes() + kept.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Embedding:
        """What `to_bytes` kept, without the words: only a question needs them."""
        size, n_tokens = np.frombuffer(data, np.int32, 2).tolist()
        pooled = np.frombuffer(data, np.float16, size, 8).astype(np.float32)
        raw = np.frombuffer(data, np.int8, n_tokens * size, 8 + 2 * size)
        tokens = raw.reshape(n_tokens, size).astype(np.float32) / np.float32(TOKEN_SCALE)
        return cls(pooled, tokens if n_tokens else None)


class Embedder(Protocol):
    """Encodes texts. The same text gives the same vectors."""

    @property
    def name(self) -> str:
        """Names the vector space: vectors of different names cannot be compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    def knows(self, text: str) -> bool:
        """Whether the encoder was trained on the language of a text, as far as its script tells."""
        ...

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> Sequence[Embedding | None]:
        """What is remembered, in the order of the texts; None for what is not encoded yet.
        Raises EmbedderFailed.

        `contexts` has for every text what was said right before it, or "": it may colour the
        vectors of the text and gets none itself.
        """
        ...

    def encode_question(self, text: str) -> Embedding:
        """What is asked. Raises EmbedderFailed."""
        ...
