"""Which line of a memory file came from where: for age, and so that forgetting leaves no trace.

A file's texts are followed word by word from revision to revision. A word that stays keeps the
origin of its first appearance; a line that comes back without a new source does so too.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from memory.engine.files import label_of, without_label

_WORD = re.compile(r"\w+")

# A word of a line with the source that brought it; None for a person's own hand.
_Words = tuple[tuple[str, Hashable], ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A file's text after one revision, and the message that this revision rests on."""

    text: str
    source: Hashable = None


def line_ages(before: str, ages: Sequence[int], after: str, number: int) -> list[int]:
    """For each line of `after`, the revision that wrote it: `number` for those that are new."""
    old, new = before.split("\n"), after.split("\n")
    known = list(ages) if len(ages) == len(old) else [0] * len(old)
    told = [number] * len(new)
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        told[block.b : block.b + block.size] = known[block.a : block.a + block.size]
    return told


def without_source(versions: Sequence[Version], gone: Hashable) -> list[str | None]:
    """The texts as if `gone` had never been said; None where a revision rested on it.

    A later line goes as a whole when something that it says (not its label) came from there.
    """
    told: list[str | None] = []
    for version, lines in zip(versions, _with_origins(versions), strict=True):
        if version.source == gone:
            told.append(None)
            continue
        kept = [line for line, words in lines if not _comes_from(line, words, gone)]
        told.append("\n".join(kept))
    return told


def without_lines(versions: Sequence[Version], forgotten: Sequence[str]) -> list[str]:
    """The texts without these lines, and without what stood under the same label before."""
    exact = {line.strip() for line in forgotten if line.strip()}
    labels = {label for line in forgotten if (label := label_of(line))}
    return [
        "\n".join(
            line
            for line in version.text.split("\n")
            if line.strip() not in exact and not (labels and label_of(line) in labels)
        )
        for version in versions
    ]


def _comes_from(line: str, words: _Words, gone: Hashable) -> bool:
    """A line without a word (a rule, a gap) comes from nowhere."""
    said = len(_WORD.findall(without_label(line)))
    return any(source == gone for _, source in words[len(words) - said :])


def _with_origins(versions: Sequence[Version]) -> list[list[tuple[str, _Words]]]:
    """For each version its lines, each with its words and where they came from."""
    told: list[list[tuple[str, _Words]]] = []
    seen: dict[str, _Words] = {}
    before: list[tuple[str, _Words]] = []
    for version in versions:
        lines = version.text.split("\n")
        now: list[tuple[str, _Words]] = []
        matcher = SequenceMatcher(None, [line for line, _ in before], lines, autojunk=False)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes():
            if tag == "equal":
                now += before[a1:a2]
                continue
            old = [word for _, words in before[a1:a2] for word in words]
            now += _changed(old, lines[b1:b2], version.source, seen)
        for line, words in now:
            seen.setdefault(line, words)
        told.append(now)
        before = now
    return told


def _changed(
    old: Sequence[tuple[str, Hashable]],
    lines: Sequence[str],
    source: Hashable,
    seen: dict[str, _Words],
) -> list[tuple[str, _Words]]:
    """New lines with the origins of their words: those that stayed keep theirs."""
    words = [word for line in lines for word in _WORD.findall(line)]
    origins: list[Hashable] = [source] * len(words)
    matcher = SequenceMatcher(None, [word for word, _ in old], words, autojunk=False)
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            origins[block.b + step] = old[block.a + step][1]
    told: list[tuple[str, _Words]] = []
    for line in lines:
        n_words = len(_WORD.findall(line))
        mine = tuple(zip(words[:n_words], origins[:n_words], strict=True))
        words, origins = words[n_words:], origins[n_words:]
        told.append((line, seen[line] if source is None and line in seen else mine))
    return told
