"""The questions that a model proposes at the end of its answer."""

from __future__ import annotations

import re

FOLLOWUPS_MAX = 5
FOLLOWUP_MAX_CHARS = 200

# A digit is a bullet only with its dot or bracket and a space: "3D printing?" begins with none.
_BULLET = re.compile(r"(?:[-*–]\s+|•\s*|\d{1,2}[.)]\s+)?")


def questions_in(body: str) -> list[str]:
    """One a line, without bullets, repetitions and lines that hold no word."""
    questions: list[str] = []
    for line in body.splitlines():
        bullet = _BULLET.match(line.strip())
        question = line.strip()[bullet.end() if bullet else 0 :]
        if len(question) > FOLLOWUP_MAX_CHARS:
            question = question[: FOLLOWUP_MAX_CHARS - 1].rstrip() + "…"
        if any(char.isalnum() for char in question) and question not in questions:
            questions.append(question)
    return questions[:FOLLOWUPS_MAX]
