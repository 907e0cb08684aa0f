"""Facts and questions in nine languages, six of them in scripts without Latin letters.

A history is a hundred and sixty sentences of everyday talk, put together from parts, with twelve
facts among them. A question uses the words of its fact in the form that grammar asks for.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from memory.bench.language_texts import TEXTS
from memory.bench.probes import Case, Probe
from memory.engine.values import Message

_N_TALK = 160


def language_cases(seed: int) -> list[Case]:
    return [_case(language, seed) for language in TEXTS]


def _case(language: str, seed: int) -> Case:
    rng = random.Random(f"{language} {seed}")
    text = TEXTS[language]
    talk = [
        text.joint.join((rng.choice(text.who), rng.choice(text.did), rng.choice(text.when)))
        + text.stop
        for _ in range(_N_TALK)
    ]
    for fact, _ in text.facts:
        talk.insert(rng.randrange(len(talk) - 20), fact)
    at = datetime(2026, 4, 1, 8, 0, tzinfo=UTC)
    messages = tuple(
        Message(str(n), "user" if n % 2 == 0 else "assistant", said, at + timedelta(minutes=9 * n))
        for n, said in enumerate(talk)
    )
    probes = tuple(Probe(question, language, holds=(fact,)) for fact, question in text.facts)
    return Case(language, messages, probes)
