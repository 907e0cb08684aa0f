"""What was done, counted as it happens: "how many" and "which" have no answer in any one line.

Every entry keeps the order of first occurrence and the number of times. A list that does not fit
says how many more there are: the total is always true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from memory.engine.calls import Call

Topic = Literal["searches", "changes", "reads", "runs", "failures"]

LIST_SHARE = 0.25
"""Most of the budget that a counted list may take when the question asks for it."""
QUIET_SHARE = 0.01
"""Most of it when nobody asked."""

_TITLES: dict[Topic, str] = {
    "searches": "Searches made",
    "changes": "Files changed",
    "reads": "Files and pages read",
    "runs": "Commands and tests run",
    "failures": "Calls that failed",
}
_BY_US = r"\b(?:you|we|i|they|been)\s+(?:\w+\s+)?"
"""Before a word that names a thing as well as a deed: "did you search", not "the search"."""
_WORDS: dict[Topic, re.Pattern[str]] = {
    "searches": re.compile(
        rf"\bsearch(?:es|ed|ing)\b|\bquer(?:ies|ied)\b|\bgrep|\blook(?:ed|ing)? (?:up|for)\b"
        rf"|{_BY_US}(?:search|query)\b|gesucht|suchen\b|b[uú]squedas?\b|busc|recherch|ricerc"
        r"|pesquis|поиск|искал|αναζητ|بحث|खोज|搜索|查询|検索", re.I),
    "changes": re.compile(
        rf"\b(?:changes|changed|changing|edits|edited|editing|touched|wrote|written|created|updated"
        rf"|patched|patches|modif\w+)\b|{_BY_US}(?:change|edit|touch|write|create|update|patch)\b"
        r"|geändert|bearbeitet|cambi|\bedit(?:ad[oa]s?|ó|aste|é|és|iert\w*)\b|измен|правк|άλλαξ"
        r"|تعديل|غي|बदल|修改|改|変更|編集", re.I),
    "reads": re.compile(
        rf"\b(?:opened|looked at|visited|fetched|viewed|pages|sources|sites)\b"
        rf"|\b(?:files?|pages?|articles?|documents?)\s+(?:\w+\s+){{0,3}}read\b"
        rf"|{_BY_US}(?:read|reading|open|look(?:ed)? at|visit|fetch|view)\b|gelesen|geöffnet"
        r"|\ble[ií]|\babr(?:i|ió|iste|ie)|\blu(?:es?|s)?\b|\blett|прочита|читал|διάβα|قرأ|पढ|读|看了|読",
        re.I),
    "runs": re.compile(
        rf"\b(?:ran|commands|tests|executed)\b|{_BY_US}(?:run|test|execute)\b"
        r"|ausgeführt|ejecut|запус", re.I),
    "failures": re.compile(
        r"\b(?:fail(?:s|ed|ing|ures?)?|errors|went wrong|broke)\b|fehlgeschlagen|\bfehler"
        r"|fall[oó]|échou|erreur|ошиб|失败|失敗", re.I),
}  # fmt: skip
_TOPIC_OF: dict[str, Topic] = {
    "read": "reads", "change": "changes", "run": "runs", "search": "searches",
}  # fmt: skip


def topics_of(call: Call, *, ok: bool) -> list[Topic]:
    """What a call counts as. A command that failed was run all the same."""
    if ok:
        return [_TOPIC_OF[call.kind]]
    return ["runs", "failures"] if call.kind == "run" else ["failures"]


def name_of(call: Call) -> str:
    """Under which name a call is listed."""
    return " ".join((call.named or call.tool).split()) or "(unnamed)"


@dataclass(slots=True)
class Tally:
    times: dict[str, int] = field(default_factory=dict)

    def add(self, name: str) -> None:
        self.times[name] = self.times.get(name, 0) + 1


@dataclass(slots=True)
class Ledger:
    tallies: dict[Topic, Tally] = field(default_factory=dict)

    def note(self, call: Call, *, ok: bool) -> None:
        name = name_of(call)
        for topic in topics_of(call, ok=ok):
            self.tallies.setdefault(topic, Tally()).add(name)

    def topics(self, question: str) -> list[Topic]:
        """The topics that a question names, of those that hold anything."""
        return [topic for topic in self.tallies if _WORDS[topic].search(question)]

    def entry(self, topic: Topic, n_names: int | None = None) -> str:
        """One row: the title, the total, and so many names, the newest last."""
        times = self.tallies[topic].times
        names = [name if count == 1 else f"{name} (x{count})" for name, count in times.items()]
        total, size = self.total(topic), self.size(topic)
        shown = names if n_names is None else names[-n_names:] if n_names else []
        counted = f"{total}" if total == size else f"{total}, {size} different"
        more = f", +{size - len(shown)} more" if len(shown) < size else ""
        return f"{_TITLES[topic]} ({counted}): {', '.join(shown)}{more}"

    def total(self, topic: Topic) -> int:
        return sum(self.tallies[topic].times.values())

    def size(self, topic: Topic) -> int:
        return len(self.tallies[topic].times)
