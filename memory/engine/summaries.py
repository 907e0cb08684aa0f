"""A summary of a span of messages: the lines worth keeping, chosen and printed within a budget.

What may become a line comes from the originals alone: their own sentences (`extracted`), or what a
model wrote about them and what occurs in them (`summary_reading`). Lines say who said them and
when. The span is cut into parts of equal length that take turns, so that no time of it is left out
because another had more to say. The same messages give the same summary.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from memory.engine.sanitizer import strip_citation_markers
from memory.engine.terms import exact_terms
from memory.engine.tokens import CountTokens
from memory.engine.values import Message

Kind = Literal["decision", "fact", "question"]
MayKeep: TypeAlias = Callable[[str], bool]
"""Whether a text may be kept at all: no password, nobody else's number."""

_TITLES: dict[Kind, str] = {
    "decision": "Decisions:",
    "fact": "Facts:",
    "question": "Open questions:",
}
_SOURCES = "Sources:"
_KINDS: tuple[Kind, ...] = ("decision", "fact", "question")
_SOURCES_SHARE, _LEAST_SOURCES = 5, 50
_MOST_SOURCES, _LISTED_SOURCES = 12, 40
_USER_SHARE = 0.7
_SHORTEST_LINE = 10
_ALIKE = 0.6
_PART_TOKENS = 2_000
_MOST_PARTS = 24
_TOKENS_A_DOUBLING = 80
_LEAST_TOKENS = 160

URL = re.compile(r"https?://[^\s<>\"`\]（）【】「」『』]+")
_MARKER = re.compile(
    r"[ \t]?(?:\[\^?[ ]?\d{1,3}(?:[ ]?[,、–-][ ]?\d{1,3})*[ ]?\]|【[^】\n]{0,80}】"
    r"|[(](?:see )?sources? \d[\d, ]*[)])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Item:
    """What may become a line. `on` is a day in ISO 8601 or empty, `place` the message's number
    and the sentence's in it, `part` the part of the span that it competes in."""

    kind: Kind
    who: str
    text: str
    place: tuple[int, int]
    on: str = ""
    score: float = 0.0
    part: int = 0
    by_user: bool = False

    def line(self) -> str:
        said = " ".join(word for word in (self.on, self.who) if word)
        return f"- {said}: {self.text}" if said else f"- {self.text}"


@dataclass(frozen=True, slots=True)
class Address:
    """A source by its URL, how often it was read or named, and where last."""

    url: str
    times: int
    place: int


@dataclass(frozen=True, slots=True)
class Summary:
    """`order` has the numbers of the text's lines without its titles, the most telling first."""

    text: str
    order: tuple[int, ...]
    n_tokens: int


def limit_tokens(n_messages: int, n_tokens: int, most: int) -> int:
    """How long a summary may be: so much for every doubling of its span, never above `most`, nor
    above half of what it stands for, if that is more than a few lines."""
    grown = int(_TOKENS_A_DOUBLING * math.log2(1 + n_messages))
    return max(1, min(most, grown, max(_LEAST_TOKENS, n_tokens // 2)))


def speaker_of(message: Message) -> str:
    return message.speaker or message.role


def day_of(message: Message) -> str:
    return message.at.date().isoformat() if message.at else ""


def item_of(message: Message, kind: Kind, text: str, place: tuple[int, int], score: float) -> Item:
    by_user = message.role == "user"
    day = day_of(message)
    return Item(kind, speaker_of(message), text, place, day, score, by_user=by_user)


def without_numbers(text: str) -> str:
    """The text without numbers of sources: they mean nothing in another turn."""
    return " ".join(_MARKER.sub("", strip_citation_markers(text).text).split())


def parts_of(messages: Sequence[Message], count: CountTokens) -> list[int]:
    """For each message the part of the span that it lies in, by what was said before it."""
    sizes = [count(message.text) if message.role != "tool" else 0 for message in messages]
    n_parts = min(_MOST_PARTS, max(1, sum(sizes) // _PART_TOKENS))
    part_size = max(1.0, sum(sizes) / n_parts)
    parts, before = [], 0
    for size in sizes:
        parts.append(min(n_parts - 1, int((before + size / 2) / part_size)))
        before += size
    return parts


def urls_in(text: str) -> list[str]:
    """The addresses in a text, in order, without what is the sentence's and not theirs."""
    return [url_of(found[0]) for found in URL.finditer(text)]


def url_of(raw: str) -> str:
    """An address without the punctuation after it; a bracket stays that was opened in it."""
    end, spare = len(raw), raw.count(")") - raw.count("(")
    while end and (raw[end - 1] in ".,;:!?*…'’" or (raw[end - 1] == ")" and spare > 0)):
        end -= 1
        spare -= raw[end] == ")"
    return raw[:end]


def addresses_of(messages: Iterable[Message]) -> list[Address]:
    """The sources that were read or named, the most frequent and then the newest first."""
    times: Counter[str] = Counter()
    last: dict[str, int] = {}
    for number, message in enumerate(messages):
        for url in _addresses(message):
            times[url] += 1
            last[url] = number
    found = [Address(url, n, last[url]) for url, n in times.items()]
    return sorted(found, key=lambda one: (-one.times, -one.place, one.url))


def _addresses(message: Message) -> Iterator[str]:
    if message.role != "tool":
        yield from dict.fromkeys(urls_in(message.text))
    elif message.ok and message.target and message.target.startswith(("http", "/")):
        yield message.target


# --- Choosing -----------------------------------------------------------------------------------


def summary_of(
    items: Iterable[Item],
    addresses: Sequence[Address],
    limit: int,
    count: CountTokens,
    may_keep: MayKeep,
) -> Summary:
    """The best items of every part, and the sources, in at most `limit` tokens."""
    urls = _chosen_urls(
        [one for one in addresses[:_LISTED_SOURCES] if may_keep(one.url)],
        max(_LEAST_SOURCES, limit // _SOURCES_SHARE),
        count,
    )
    left = limit - sum(count(f"- {url}\n") for url in urls)
    left -= sum(count(f"{title}\n") for title in _TITLES.values())
    chosen = _chosen(items, left, count, may_keep)
    while True:
        text, order = _printed(chosen, urls)
        n_tokens = count(text)
        if n_tokens <= limit or not (chosen or urls):
            return Summary(text, order, n_tokens)
        if chosen:
            chosen.pop()
        else:
            urls.pop()


def _chosen(
    items: Iterable[Item], budget: int, count: CountTokens, may_keep: MayKeep
) -> list[Item]:
    """In order of choice: what the user said first, up to its share, as nobody can look that up
    again; then the rest; then what is left of the user's."""
    ranked = sorted(items, key=lambda one: (one.score, one.place))
    by_user = [one for one in ranked if one.by_user]
    choice = _Choice(budget, count, may_keep)
    rest = choice.take(by_user, least_left=budget - int(_USER_SHARE * budget))
    choice.take([one for one in ranked if not one.by_user])
    choice.take(rest)
    return choice.chosen


class _Choice:
    """A budget being spent on lines."""

    def __init__(self, budget: int, count: CountTokens, may_keep: MayKeep) -> None:
        self.chosen: list[Item] = []
        self._left = budget
        self._known: list[frozenset[str]] = []
        self._count, self._may_keep = count, may_keep

    def take(self, ranked: Sequence[Item], least_left: int = 0) -> list[Item]:
        """The parts take turns with their best item, the one with the best of all first, until no
        more than `least_left` is left. `ranked`: worst first. Returns what did not fit, likewise.
        """
        waiting: dict[int, list[Item]] = {}
        for one in ranked:
            waiting.setdefault(one.part, []).append(one)
        too_long: list[Item] = []
        while waiting and self._left - least_left >= _SHORTEST_LINE:
            for part in sorted(waiting, key=lambda part: (-waiting[part][-1].score, part)):
                too_long += self._take_next(waiting[part], self._left - least_left)
            waiting = {part: queue for part, queue in waiting.items() if queue}
        rest = [*too_long, *(one for queue in waiting.values() for one in queue)]
        return sorted(rest, key=lambda one: (one.score, one.place))

    def _take_next(self, queue: list[Item], budget: int) -> list[Item]:
        """Takes the best item that fits and says something new; returns those that do not fit."""
        too_long = []
        while queue:
            item = queue.pop()
            cost = self._count(item.line() + "\n")
            if cost > budget:
                too_long.append(item)
            elif not _is_told(item, self._known) and self._may_keep(item.text):
                self.chosen.append(item)
                self._known.append(frozenset(exact_terms(item.text)))
                self._left -= cost
                break
        return too_long


def _is_told(item: Item, known: Sequence[frozenset[str]]) -> bool:
    """Whether most of the item's words stand in one that is there already, numbers included."""
    terms = frozenset(exact_terms(item.text))
    numbers = {term for term in terms if term.isdecimal()}
    return any(
        len(terms & other) >= _ALIKE * len(terms) and numbers <= other for other in known if terms
    )


def _chosen_urls(addresses: Sequence[Address], budget: int, count: CountTokens) -> list[str]:
    chosen: list[Address] = []
    left = budget - count(f"{_SOURCES}\n")
    for address in addresses:
        cost = count(f"- {address.url}\n")
        if cost <= left and len(chosen) < _MOST_SOURCES:
            chosen.append(address)
            left -= cost
    return [one.url for one in sorted(chosen, key=lambda one: (one.place, one.url))]


# --- Printing -----------------------------------------------------------------------------------


def _printed(chosen: Sequence[Item], urls: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    lines: list[str] = []
    at: dict[Item, int] = {}
    for kind in _KINDS:
        own = sorted((one for one in chosen if one.kind == kind), key=lambda one: one.place)
        if own:
            lines.append(_TITLES[kind])
        for one in own:
            at[one] = len(lines)
            lines.append(one.line())
    listed = range(len(lines) + 1, len(lines) + 1 + len(urls))
    if urls:
        lines += [_SOURCES, *(f"- {url}" for url in urls)]
    return "\n".join(lines), (*(at[item] for item in chosen), *listed)


def shortened(text: str, order: Sequence[int], budget: int, count: CountTokens) -> str:
    """The most telling lines of a summary within a budget, under their titles; empty where none
    fits."""
    lines = text.split("\n")
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if count(_only(lines, order[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    return _only(lines, order[:low])


def _only(lines: Sequence[str], kept: Iterable[int]) -> str:
    wanted = set(kept)
    told: list[str] = []
    title = ""
    for number, line in enumerate(lines):
        if not line.startswith("- "):
            title = line
        elif number in wanted:
            told += [title, line] if title else [line]
            title = ""
    return "\n".join(told)


def in_parts(items: Iterable[Item], parts: Sequence[int]) -> list[Item]:
    """Items with the part of the span that their message lies in."""
    return [replace(item, part=parts[item.place[0]]) for item in items]
