"""What is read of the memory files before a question is answered, within a budget.

AGENTS.md, knowledge/user.md, and skills whose trigger line matches. Files that do not fit share
the budget; of a file that is cut, pinned lines and the newest ones stay, and the cut is stated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.engine.files import AGENTS, PIN, USER, MemoryText, parse
from memory.engine.terms import exact_terms

CountTokens = Callable[[str], int]

_QUOTED = re.compile(r"[\"“„«「]([^\"”“»」]+)[\"”“»」]")
_PHRASE_ENDS = re.compile(r"[,;、，|]|\s(?:or|o|oder|ou|или)\s")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it is kept. `ages` holds, for each line, the number of the revision that wrote
    it: the higher, the newer."""

    path: str
    text: str
    changed_at: datetime
    ages: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """What is shown of a file. The text says itself where lines are left out."""

    path: str
    text: str
    n_left_out: int = 0


def always_read(files: Iterable[StoredFile]) -> list[StoredFile]:
    """AGENTS.md and knowledge/user.md, in this order, those that exist."""
    found = {file.path: file for file in files}
    return [found[path] for path in (AGENTS, USER) if path in found]


def matching_skills(files: Iterable[StoredFile], question: str) -> list[StoredFile]:
    """The skills whose trigger line matches, pinned ones first, then the newest."""
    asked = set(exact_terms(question))
    fitting = [
        file
        for file in files
        if file.path.startswith("skills/") and matches(parse(file.text), asked)
    ]
    return sorted(fitting, key=_pinned_then_newest)


def matches(skill: MemoryText, asked: set[str]) -> bool:
    """Whether all words of one of the trigger's phrases were said. Phrases stand in quotes;
    without any, between commas, semicolons or an "or"."""
    phrases = _QUOTED.findall(skill.trigger) or _PHRASE_ENDS.split(skill.trigger)
    wanted = [set(exact_terms(phrase)) for phrase in phrases]
    return any(terms and terms <= asked for terms in wanted)


def _pinned_then_newest(file: StoredFile) -> tuple[bool, float]:
    return not parse(file.text).pinned, -file.changed_at.timestamp()


def opened(files: Sequence[StoredFile], budget_tokens: int, count: CountTokens) -> list[Opened]:
    """The files in their order, together within the budget.

    Pinned files are served first, then the smaller ones, so that a long file is cut before a
    short one. A file of which nothing fits is still named.
    """
    left = budget_tokens
    served: dict[str, Opened] = {}
    waiting = sorted(files, key=lambda file: (not parse(file.text).pinned, count(file.text)))
    for index, file in enumerate(waiting):
        pinned = parse(file.text).pinned
        share = left if pinned else left // (len(waiting) - index)
        served[file.path] = _opened(file, share, count)
        left -= count(served[file.path].text)
    return [served[file.path] for file in files if served[file.path].text]


def _opened(file: StoredFile, budget_tokens: int, count: CountTokens) -> Opened:
    whole = parse(file.text).body
    body = whole.strip("\n")
    if count(body) <= budget_tokens:
        return Opened(file.path, body)
    lines = body.split("\n")
    above = file.text.removesuffix(whole) + whole[: len(whole) - len(whole.lstrip("\n"))]
    ages = [*file.ages[above.count("\n") :], *([0] * len(lines))]
    order = sorted(
        (i for i, line in enumerate(lines) if line.strip()),
        key=lambda i: (PIN not in lines[i], -ages[i], -i),
    )
    kept = _that_fit(lines, order, budget_tokens, count)
    text = _told(lines, kept)
    if count(text) > budget_tokens:
        return Opened(file.path, "", len(order))
    return Opened(file.path, text, len(order) - len(kept))


def _that_fit(
    lines: Sequence[str], order: Sequence[int], budget_tokens: int, count: CountTokens
) -> list[int]:
    """As many lines of the order as fit together with the words that state the cut."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if count(_told(lines, order[:middle])) <= budget_tokens:
            low = middle
        else:
            high = middle - 1
    return list(order[:low])


def _told(lines: Sequence[str], kept: Iterable[int]) -> str:
    """The kept lines in their place. Every gap says how many lines it left out."""
    told: list[str] = []
    last = -1
    for index in [*sorted(kept), len(lines)]:
        n_gone = sum(bool(line.strip()) for line in lines[last + 1 : index])
        if n_gone:
            told.append(f"[{n_gone} {'line' if n_gone == 1 else 'lines'} left out here]")
        elif index - last > 1 and told:
            told.append("")
        if index < len(lines):
            told.append(lines[index])
        last = index
    return "\n".join(told)
