"""The door between the conversation and memory: the only module of `memory` that `chat` imports."""

from __future__ import annotations

from memory.engine.sanitizer import Sanitized, sanitize
from memory.engine.tokens import estimate_tokens

__all__ = ["Sanitized", "clean_text", "count_tokens", "sanitize"]


def clean_text(text: str) -> str:
    """Text as it may be stored: no storage marker, no thoughts, no control characters."""
    return sanitize(text).text


def count_tokens(text: str) -> int:
    """About how many tokens a model counts for this text; an estimate on the safe side."""
    return estimate_tokens(text)
