"""Memory files: Markdown that a person can read, with a small front matter of `key: value` lines.

Where a file may lie, how its text is read and printed, and the two ways to change it: appending,
and replacing a text that occurs exactly once. Nothing here touches a disk.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

AGENTS = "AGENTS.md"
USER = "knowledge/user.md"
ROOTS = ("knowledge", "skills", "conversations/summaries")
MAX_PATH_CHARS, MAX_NAME_CHARS, MAX_DEPTH = 200, 80, 6
MAX_FILE_CHARS = 100_000
PIN = "📌"

_NOT_IN_NAMES = re.compile(r'[<>:"|?*\\]')
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_TRIGGER = re.compile(r"^\W*trigger\W*:\W*(\w.*)$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"#{1,6}\s+\S")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\S")
_LABELLED = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\*\*)?(?P<label>[^\W\d_][\w'’ /-]{0,38}?)(?:\*\*)?\s*(?:：|:(?=[\s*]))\**"
    r"\s*(?P<value>\S.*)"
)
_MAX_LABEL_WORDS = 4
_FENCE = "```"
# One person has one name, however its line is called.
_NAME_LABELS = frozenset(
    {"name", "user name", "username", "user's name", "preferred name", "called", "call me"}
)
_MAX_FRONT_LINES = 20


class FileRefused(Exception):
    """Why a path or a change is not taken, as a sentence that says what to do."""


# --- Where a file may lie -----------------------------------------------------------------------


def normal_path(given: str) -> str:
    """The path in its one form: NFC, lower case (but AGENTS.md), no empty or "." parts.

    Raises FileRefused for whatever leads out of the tree or is no Markdown file.
    """
    path = unicodedata.normalize("NFC", given).strip()
    if len(path) > MAX_PATH_CHARS:
        raise FileRefused(f"The path is too long: at most {MAX_PATH_CHARS} characters.")
    if any(unicodedata.category(char)[0] == "C" for char in path):
        raise FileRefused("The path holds characters that nobody can see.")
    if path.startswith(("/", "~")) or _NOT_IN_NAMES.search(path):
        raise FileRefused("The path must be relative, with / between its parts and plain names.")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if any(part.startswith(".") or part[-1] in ". " or part[0] == " " for part in parts):
        raise FileRefused("No part of the path may begin with a dot, or end with one or a space.")
    if any(len(part) > MAX_NAME_CHARS for part in parts) or len(parts) > MAX_DEPTH:
        raise FileRefused(f"Use at most {MAX_DEPTH} parts of {MAX_NAME_CHARS} characters.")
    return _in_tree("/".join(parts).lower())


def _in_tree(path: str) -> str:
    if path == AGENTS.lower():
        return AGENTS
    if not path.endswith(".md"):
        raise FileRefused("A memory file is Markdown: its name must end in .md.")
    if not path.startswith(tuple(f"{root}/" for root in ROOTS)):
        places = ", ".join(f"{root}/" for root in ROOTS)
        raise FileRefused(f"A memory file is {AGENTS} or lies in one of {places}.")
    return path


# --- The format ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A file's text: `front` are its (key, value) lines in order, `body` the Markdown below."""

    body: str
    front: tuple[tuple[str, str], ...] = ()

    def value(self, key: str) -> str:
        """The last value of a key, or nothing."""
        return next((value for name, value in reversed(self.front) if name == key), "")

    @property
    def pinned(self) -> bool:
        return self.value("pinned").lower() in {"true", "yes", "on"}

    @property
    def trigger(self) -> str:
        """When a skill applies: from the front matter, or a line such as "**Trigger**: …"."""
        found = _TRIGGER.search(self.body)
        return self.value("trigger") or (found[1].strip() if found else "")


def parse(text: str) -> MemoryText:
    """Reads a file. A front matter that is not well formed is part of the body."""
    if not text.startswith("---\n"):
        return MemoryText(text)
    front: list[tuple[str, str]] = []
    rest = text[4:]
    for _ in range(_MAX_FRONT_LINES + 1):
        line, newline, rest = rest.partition("\n")
        if line == "---":
            return MemoryText(rest, tuple(front))
        key, colon, value = line.partition(":")
        if not (newline and colon and _KEY.fullmatch(key)):
            break
        front.append((key, value.strip()))
    return MemoryText(text)


def print_file(file: MemoryText) -> str:
    """The text that `parse` reads as this file."""
    if not file.front and parse(file.body) == file:
        return file.body
    lines = "".join(f"{key}: {value}".rstrip() + "\n" for key, value in file.front)
    return f"---\n{lines}---\n{file.body}"


def clean(text: str) -> str:
    """The text as it is kept: plain line ends, nothing invisible, one newline at the end."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    seen = "".join(char for char in plain if char in "\n\t" or not _is_invisible(char))
    lines = [line.rstrip() for line in seen.split("\n")]
    body = "\n".join(lines).strip("\n")
    return f"{body}\n" if body else ""


def _is_invisible(char: str) -> bool:
    """Controls, direction overrides and lone halves; the joiners of scripts and emoji stay."""
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co"} and char not in "\u200c\u200d"


# --- Changing a text ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Appended:
    """`replaced` are the lines that gave way to a line with the same label."""

    text: str
    replaced: tuple[str, ...] = ()


def append(text: str, addition: str) -> Appended:
    """Adds lines at the end, or at the end of the section that `addition` names by its heading.

    A line "- Label: value" takes the place of a line with the same label. Lines that are already
    there are not added again.
    """
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    new = addition.strip("\n").split("\n")
    if _FENCE in addition:
        return Appended("\n".join(_joined(lines, new)) + "\n")
    replaced: list[str] = []
    at = len(lines)
    for line in new:
        label, known = label_of(line), [one.strip() for one in lines]
        if _HEADING.match(line) and line.strip() in known:
            at = _section_end(lines, known.index(line.strip()))
        elif line.strip() and line.strip() in known:
            continue
        elif label and label in (labels := [label_of(one) for one in lines]):
            index = labels.index(label)
            replaced.append(lines[index].strip())
            lines[index] = line
        else:
            lines, at = _inserted(lines, at, line)
    return Appended("\n".join(lines).strip("\n") + "\n", tuple(replaced))


def _inserted(lines: list[str], at: int, line: str) -> tuple[list[str], int]:
    """The lines with one more, set off by an empty line unless a list goes on; and where after."""
    before = lines[at - 1] if at else ""
    goes_on = _ITEM.match(before) and _ITEM.match(line)
    gap = [] if not before.strip() or not line.strip() or goes_on else [""]
    return [*lines[:at], *gap, line, *lines[at:]], at + len(gap) + 1


def _joined(lines: Sequence[str], new: Sequence[str]) -> list[str]:
    return [*lines, *([""] if lines else []), *new]


def _section_end(lines: Sequence[str], heading: int) -> int:
    """Where the section's next line would stand."""
    end = next((i for i in range(heading + 1, len(lines)) if _HEADING.match(lines[i])), len(lines))
    while end > heading + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def label_of(line: str) -> str:
    """The label of a line "- Label: value", folded; empty when it has none."""
    found = _LABELLED.fullmatch(line)
    if not found or len(found["label"].split()) > _MAX_LABEL_WORDS:
        return ""
    label = " ".join(found["label"].casefold().replace("’", "'").split())
    return "name" if label in _NAME_LABELS else label


def without_label(line: str) -> str:
    """What a line says, without its list mark and label."""
    found = _LABELLED.fullmatch(line)
    return found["value"] if found and label_of(line) else line


def replace(text: str, old: str, new: str) -> str:
    """The text with `old`, which must occur exactly once, replaced. Raises FileRefused."""
    if not old.strip():
        raise FileRefused("The text to replace is empty.")
    count = text.count(old)
    if count == 0:
        raise FileRefused("The text to replace does not occur in the file. Read the file first.")
    if count > 1:
        raise FileRefused(
            f"The text to replace occurs {count} times. Give more of the text round it, so that "
            "it occurs once."
        )
    return text.replace(old, new)


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """A unified diff with three lines of context; empty when nothing differs."""
    return "\n".join(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), old_name, new_name, n=3, lineterm=""
        )
    )
