"""The door between the conversation and memory: the only module of `memory` that `chat` imports."""

from __future__ import annotations

from memory.engine.sanitizer import Author, Sanitized, StoredSource, sanitize
from memory.engine.tokens import estimate_tokens

__all__ = ["Sanitized", "StoredSource", "clean_text", "count_tokens", "sanitize"]


def clean_text(text: str, *, author: Author = "assistant") -> str:
    """Text as it may be stored: no storage marker, no control characters, no thoughts."""
    return sanitize(text, author=author).text


def count_tokens(text: str) -> int:
    """About how many tokens a model counts for this text; an estimate on the safe side."""
    return estimate_tokens(text)
