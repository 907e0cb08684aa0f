"""What the engine asks of the world: vectors of texts. Implementations are in `embedders`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import Floats


@dataclass(frozen=True, slots=True)
class Embedding:
    """`pooled`: one vector of length 1 for the text. `tokens`: one for each of its tokens, of
    length 1 too, or None where the encoder gives none. `words`: the word of the text that each
    token is of, in the same order."""

    pooled: Floats
    tokens: NDArray[np.float32] | None = None
    words: tuple[str, ...] = ()


class Embedder(Protocol):
    """Encodes texts. The same text gives the same vectors."""

    @property
    def name(self) -> str:
        """Names the vector space: vectors of different names cannot be compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> Sequence[Embedding]:
        """What is remembered, in the order of the texts. Raises EmbedderFailed.

        `contexts` has for every text what was said right before it, or "": it may colour the
        vectors of the text and gets none itself.
        """
        ...

    def encode_question(self, text: str) -> Embedding:
        """What is asked. Raises EmbedderFailed."""
        ...
