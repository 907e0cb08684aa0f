"""Questions for things found in code: by name, by the words of the name, or in other words."""

from __future__ import annotations

import random
import re
from pathlib import PurePosixPath

from memory.bench.library import Found, SourceFile
from memory.bench.probes import Probe
from memory.bench.vocabulary import OTHER_WORDS
from memory.engine.terms import terms_of

_FRAMES = {
    "constant": ("What is the value of {}?", "What is {} set to?", "Which value has {}?"),
    "signature": ("What is the signature of {}?", "Which parameters does {} take?"),
    "body": ("What does {} return?", "What comes out of {} at the end?"),
    "block": ("How is {} implemented?", "Show me the whole of {}."),
    "error": ("Which error does {} raise?", "What does {} complain about?"),
}


def ask(rng: random.Random, file: SourceFile, find: Found, wording: str) -> Probe | None:
    """A probe in the wording asked for, or None where the find does not lend itself to it."""
    subject = _subject(rng, file, find, wording)
    if subject is None:
        return None
    question = rng.choice(_FRAMES[find.kind]).format(subject)
    if wording == "para" and rng.random() < 0.5:
        question = f"In {PurePosixPath(file.path).stem}: {question[0].lower()}{question[1:]}"
    rows = tuple(file.lines[find.start : find.end])
    if wording == "para" and _shared(subject, " ".join((find.name, *rows))):
        return None
    needs = tuple(row for row in rows if row.strip())
    return Probe(question, find.kind, wording, needs=needs)


def _subject(rng: random.Random, file: SourceFile, find: Found, wording: str) -> str | None:
    parts = [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", find.name)]
    if wording == "exact":
        return find.name if len(find.name) > 3 else None
    if wording == "split":
        distinct = len(parts) > 1 and all(len(part) > 2 for part in parts)
        return f"the {' '.join(parts)}" if distinct else None
    if find.kind == "error":
        parts = re.findall(r"[a-z]{3,}", find.value.lower())
    others = [OTHER_WORDS[part] for part in parts if part in OTHER_WORDS]
    if find.kind == "error":
        return f"it about the {' and the '.join(others[:3])}" if len(others) > 1 else None
    if len(others) < len(parts) or len(parts) < 2:
        return None  # one common word alone, such as "read", names a dozen things
    if find.kind == "constant":
        return f"the {' of the '.join(others)}"
    return f"the function to {others[0]}{''.join(f' the {other}' for other in others[1:])}"


def _shared(subject: str, text: str) -> bool:
    """Whether two texts share a term that says something."""
    common = {term for term in terms_of(subject) if len(term) > 3}
    return bool(common & set(terms_of(text)))
