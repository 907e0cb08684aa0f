"""Vectors that are kept: a line is encoded once, whatever happens to the process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from memory.engine.ports import Embedder, Embedding

Load = Callable[[Sequence[str]], Mapping[str, bytes]]
Save = Callable[[Mapping[str, bytes]], None]


class CachedEmbedder:
    """An embedder with a store: `load` gets keys and returns what is kept of them, `save` keeps."""

    def __init__(self, inner: Embedder, load: Load, save: Save) -> None:
        self._inner = inner
        self._load = load
        self._save = save

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def knows(self, text: str) -> bool:
        return self._inner.knows(text)

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> Sequence[Embedding | None]:
        keys = [self.key(text, before) for text, before in zip(texts, contexts, strict=True)]
        kept = dict(self._load(keys))
        missing = [at for at, key in enumerate(keys) if key not in kept]
        if missing:
            found = self._inner.encode(
                [texts[at] for at in missing], [contexts[at] for at in missing]
            )
            fresh = {keys[at]: e.to_bytes() for at, e in zip(missing, found, strict=True) if e}
            self._save(fresh)
            kept |= fresh
        return [Embedding.from_bytes(kept[key]) if key in kept else None for key in keys]

    def encode_question(self, text: str) -> Embedding:
        return self._inner.encode_question(text)

    def key(self, text: str, before: str) -> str:
        """Names a text with its context in one vector space."""
        told = "\x00".join((self.name, before, text)).encode("utf-8", "replace")
        return hashlib.sha256(told).hexdigest()
