"""What a program without ideas would pack: the reference that the engine must not fall below.

All get the same budget, the same counter and the same text of the messages. A message costs its
text and `MESSAGE_TOKENS`; a kept line costs its text, and its message once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rank_bm25 import BM25Okapi

from memory.engine.calls import read_call, record
from memory.engine.frames import heading
from memory.engine.packer import MESSAGE_TOKENS
from memory.engine.tokens import CountTokens
from memory.engine.values import Message

TRIMMED_CHARS = 600


@dataclass(frozen=True, slots=True)
class Kept:
    """The packed text, the messages that it is from, and the share of each that is there."""

    text: str
    message_ids: frozenset[str | int]


def message_text(message: Message) -> str:
    """A message as every baseline sees it: a tool's message with its call, a change with its
    texts, a speaker with the name."""
    text = record(message, read_call(message), message.text)
    return f"{heading(message)}\n{text}" if message.role == "tool" or message.speaker else text


def full_price(messages: Iterable[Message], count: CountTokens) -> int:
    """What the whole history costs: the ceiling, of which budgets are a share."""
    return sum(count(message_text(message)) + MESSAGE_TOKENS for message in messages)


_Row = tuple[int, str, int]
"""The number of the message, the row and its price."""


class Corpus:
    """A history prepared once for all baselines and questions."""

    def __init__(self, messages: Sequence[Message], count: CountTokens) -> None:
        self.messages = list(messages)
        self.count = count
        self.texts = [message_text(message) for message in messages]
        self.prices = [count(text) + MESSAGE_TOKENS for text in self.texts]
        self.lines = self._priced(self.texts)
        trimmed = [
            text[:TRIMMED_CHARS] if message.role == "tool" else text
            for message, text in zip(self.messages, self.texts, strict=True)
        ]
        self.trimmed_lines = self._priced(trimmed)
        self.looks = [(_looks(row), frozenset(_words(row))) for _, row, _ in self.lines]
        self.by_message = _Ranker(self.texts)
        self.by_line = _Ranker([row for _, row, _ in self.lines])
        self.by_trimmed_line = _Ranker([row for _, row, _ in self.trimmed_lines])

    def _priced(self, texts: Sequence[str]) -> list[_Row]:
        return [
            (number, row, self.count(row + "\n"))
            for number, text in enumerate(texts)
            for row in text.split("\n")
            if row.strip()
        ]

    def whole(self, order: Iterable[int], budget: int, *, skip: bool) -> Kept:
        """Whole messages in an order of preference, as they fit; stop at the first that does not,
        or skip it."""
        kept = []
        for number in order:
            if self.prices[number] <= budget:
                budget -= self.prices[number]
                kept.append(number)
            elif not skip:
                break
        kept.sort()
        return Kept(
            "\n".join(self.texts[number] for number in kept),
            frozenset(self.messages[number].id for number in kept),
        )

    def rows(self, order: Iterable[int], budget: int, lines: Sequence[_Row] | None = None) -> Kept:
        """Single lines in an order of preference, as they fit."""
        lines = self.lines if lines is None else lines
        kept: list[int] = []
        seen: set[int] = set()
        for at in order:
            number, _, price = lines[at]
            price += 0 if number in seen else MESSAGE_TOKENS
            if price <= budget:
                budget -= price
                seen.add(number)
                kept.append(at)
            elif budget < MESSAGE_TOKENS:
                break
        kept.sort()
        return Kept(
            "\n".join(lines[at][1] for at in kept),
            frozenset(self.messages[number].id for number in seen),
        )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class _Ranker:
    """Textbook BM25 from `rank-bm25`, best first; what scores nothing comes last, newest first."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._bm25 = BM25Okapi([_words(text) or [""] for text in texts])
        self._asked: tuple[str, list[int]] = ("", [])

    def order(self, question: str) -> list[int]:
        if self._asked[0] != question:
            scores = self._bm25.get_scores(_words(question))
            order = sorted(range(len(scores)), key=lambda at: (-scores[at], -at))
            self._asked = (question, order)
        return self._asked[1]


Baseline = Callable[[Corpus, str, int], Kept]


def newest(corpus: Corpus, question: str, budget: int) -> Kept:
    return corpus.whole(reversed(range(len(corpus.texts))), budget, skip=False)


def last_20(corpus: Corpus, question: str, budget: int) -> Kept:
    last = range(max(0, len(corpus.texts) - 20), len(corpus.texts))
    return corpus.whole(reversed(last), budget, skip=False)


def at_random(corpus: Corpus, question: str, budget: int) -> Kept:
    order = list(range(len(corpus.lines)))
    random.Random(question).shuffle(order)
    return corpus.rows(order, budget)


def message_bm25(corpus: Corpus, question: str, budget: int) -> Kept:
    return corpus.whole(corpus.by_message.order(question), budget, skip=True)


def line_bm25(corpus: Corpus, question: str, budget: int) -> Kept:
    return corpus.rows(corpus.by_line.order(question), budget)


def trimmed_bm25(corpus: Corpus, question: str, budget: int) -> Kept:
    return corpus.rows(corpus.by_trimmed_line.order(question), budget, corpus.trimmed_lines)


def rules(corpus: Corpus, question: str, budget: int) -> Kept:
    """Hand-written weights for what looks important; the question enters last and least."""
    asked = set(_words(question))
    size = len(corpus.lines)
    scores = [
        (looks + 0.4 * len(asked & words) / (len(asked) or 1) + 0.1 * at / size, at)
        for at, (looks, words) in enumerate(corpus.looks)
    ]
    return corpus.rows([at for _, at in sorted(scores, reverse=True)], budget)


def _looks(row: str) -> float:
    bare = row.strip().lower()
    if re.search(r"\b(?:error|exception|fail(?:ed|ure)?|traceback)\b", bare):
        return 0.95
    if re.match(r"(?:def |class |import |from )", bare):
        return 0.7
    if bare.startswith(("$", ">", "#")):
        return 0.6
    return 0.3 if len(bare) > 20 else 0.1


BASELINES: dict[str, Baseline] = {
    "newest": newest,
    "last 20": last_20,
    "random lines": at_random,
    "rules": rules,
    "trimmed, line BM25": trimmed_bm25,
    "message BM25": message_bm25,
    "line BM25": line_bm25,
}
