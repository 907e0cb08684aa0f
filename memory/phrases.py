"""What people say when they want something kept, forgotten, or gave away a secret.

The patterns lie beside this file, by language, in `phrases.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from memory.engine.files import AGENTS, USER
from memory.engine.terms import exact_terms

_FILE = Path(__file__).with_suffix(".toml")
_MAX_WISH_CHARS = 2_000
_ENDS_AS_QUESTION = re.compile(r"[?？]\s*$")


@cache
def _phrases() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def _patterns(section: str) -> Iterator[re.Pattern[str]]:
    for pattern in _phrases()[section].values():
        yield _compiled(pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("\n", ""), re.IGNORECASE)


def pattern(section: str, name: str) -> re.Pattern[str]:
    return _compiled(_phrases()[section][name])


@cache
def structural_terms() -> frozenset[str]:
    """The terms of words that say nothing by themselves."""
    return frozenset(exact_terms(_phrases()["structural"]))


@cache
def _trivial_terms() -> frozenset[str]:
    return frozenset(exact_terms(_phrases()["trivia"]))


def is_trivial(text: str) -> bool:
    """Whether a text holds nothing worth keeping: "ok", "yes, thanks", a smile."""
    return set(exact_terms(text)) <= _trivial_terms() | structural_terms()


def asks_to_forget(text: str) -> bool:
    return any(pattern.search(text) for pattern in _patterns("forget"))


def wish_to_remember(text: str) -> str:
    """What the person wants remembered, in their words; empty when they ask for nothing of that.

    Only a text that begins with the wish (in Japanese: ends with it) and is no question counts.
    """
    plain = " ".join(text.split())
    if _ENDS_AS_QUESTION.search(plain) or len(plain) > _MAX_WISH_CHARS:
        return ""
    for one in _patterns("remember"):
        found = one.fullmatch(plain.rstrip(".!。！ "))
        if found:
            return found["what"].strip()
    return ""


def asks_name(text: str) -> bool:
    """Whether the person asks what they are called."""
    return any(pattern.search(text) for pattern in _patterns("asks_name"))


def note_of(what: str) -> tuple[str, str]:
    """Where something that the person said belongs, and the line that says it."""
    for one in _patterns("name"):
        if found := one.fullmatch(what):
            return USER, f"- Name: {found['value'].strip()}"
    line = f"- {what[0].upper()}{what[1:]}"
    for one in _patterns("project"):
        if found := one.search(what):
            return f"knowledge/projects/{found['value'].lower()}.md", line
    if any(one.search(what) for one in _patterns("preference")):
        return AGENTS, line
    if any(one.search(what) for one in _patterns("person")):
        return USER, line
    return "knowledge/notes.md", line
