"""A talk of any length: questions on Python's library, answered with its own prose, and in each
tenth one fact that the user mentions in passing."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from memory.bench.library import MODULES
from memory.bench.vocabulary import USER_FACTS
from memory.engine import Message
from memory.engine.tokens import estimate_tokens

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
ASIDES = (
    "{fact} How does {name} work?",
    "What is {name} for? {fact}",
    "Before I forget: {fact} Now, when would one use {name}?",
    "{name} puzzles me, please explain it. By the way: {fact}",
)
ASKED = ("How does {name} work?", "What is {name} for?", "When would one use {name}?",
         "Please explain {name} to me.", "Is {name} safe to use from several threads?")  # fmt: skip


def long_talk(n_tokens: int, *, seed: int = 1) -> tuple[list[Message], list[tuple[str, str]]]:
    """The messages, at least `n_tokens` of them, and for each tenth its fact and a question."""
    rng = random.Random(f"talk {seed}")
    facts = [(fact, question) for fact, question, _ in rng.sample(USER_FACTS, 10)]
    topics = list(_topics())
    rng.shuffle(topics)
    messages: list[Message] = []
    said = told = 0
    at = START
    while said < n_tokens:
        name, prose = topics[len(messages) // 2 % len(topics)]
        wording = rng.choice(ASKED)
        if told < 10 and said >= (told + rng.uniform(0.2, 0.7)) * n_tokens / 10:
            wording = rng.choice(ASIDES).replace("{fact}", facts[told][0])
            told += 1
        at += timedelta(minutes=rng.randint(2, 400))
        for role, text in (("user", wording.format(name=name)), ("assistant", prose)):
            messages.append(Message(f"m{len(messages)}", role, text, at))
            said += estimate_tokens(text)
    return messages, facts


@cache
def _topics() -> tuple[tuple[str, str], ...]:
    """Names of the library with paragraphs of their own documentation."""
    found = {}
    for module in MODULES:
        path = Path(sysconfig.get_path("stdlib"), f"{module}.py")
        tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                text = _prose(ast.get_docstring(node) or "")
                if 300 <= len(text) <= 4_000:
                    found[f"{module}.{getattr(node, 'name', module)}"] = text
    return tuple(found.items())


def _prose(text: str) -> str:
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return "\n\n".join(part for part in paragraphs if len(part) > 60 and ">>>" not in part)
