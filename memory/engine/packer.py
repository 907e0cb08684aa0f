"""Filling a budget with the lines that a question needs.

Bands: relevant and still so; then, only to use what is left of the budget, the rest, newest first.
Closed versions stay out, unless the question is about the past. The count is the real counter's,
over exactly what is printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from memory.engine.asking import asks_list, asks_past
from memory.engine.frames import INTRO, NOTE, day, heading
from memory.engine.history import Entry, History
from memory.engine.ranker import Ranked, rank
from memory.engine.values import (
    LeftOut,
    Packed,
    PackedLine,
    PackedMessage,
    Policy,
    Receipt,
    Span,
)

MESSAGE_TOKENS = 4
"""What a chat format adds to every message, on the safe side."""
_MISSES = 40
_LEAN_SHARE = 0.25
_LEDGER_SHARE = 0.25


@dataclass(slots=True)
class _Choice:
    """A chosen row and why."""

    row: int
    reason: str
    score: float
    parts: dict[str, float]


@dataclass(slots=True)
class _Block:
    """The printed block of excerpts: what it costs so far, by upper estimate."""

    left: int
    rows: dict[int, _Choice] = field(default_factory=dict)
    messages: set[int] = field(default_factory=set)
    days: set[str] = field(default_factory=set)


class Packer:
    def __init__(
        self,
        history: History,
        question: str,
        budget_tokens: int,
        now: datetime | None,
        policy: Policy,
        keep_newest: int,
    ) -> None:
        self.history = history
        self.plan = history.plan
        self.question = question
        self.budget = max(0, budget_tokens)
        self.policy: Policy = policy
        self.keep_newest = keep_newest
        self.count = history.count_tokens
        self.past = asks_past(question)
        self.terms = history.terms(question)

    def pack(self) -> Packed:
        newest, spent = self._newest()
        ranked = self.rank()
        block = self._fill(ranked, self.budget - spent, newest)
        return self._emit(ranked, block, newest)

    def rank(self) -> Ranked:
        return rank(self.history, self.question, self.terms)

    # --- The newest messages, whole --------------------------------------------------------------

    def _newest(self) -> tuple[list[tuple[int, str]], int]:
        """The newest messages that fit, oldest first, as they are printed, and what they cost."""
        kept: list[tuple[int, str]] = []
        spent = 0
        for number in range(len(self.history.entries) - 1, -1, -1):
            if len(kept) >= self.keep_newest:
                break
            text = self._whole(number)
            if not text:
                continue
            cost = self.count(text) + MESSAGE_TOKENS
            if spent + cost > self.budget:
                break
            spent += cost
            kept.append((number, text))
        return kept[::-1], spent

    def _whole(self, number: int) -> str:
        """A message with every line of it that is still so."""
        entry = self.history.entries[number]
        rows = range(entry.first_row, entry.first_row + len(entry.lines))
        closed = self.history.closed_by.values
        if all(closed[row] < 0 for row in rows) and not any(map(self.history.is_renewed, rows)):
            text = entry.text.strip()
        else:
            text = "\n".join(self.history.shown(row) for row in rows if closed[row] < 0)
        if text and entry.message.role == "tool":
            return f"{heading(entry.message)}\n{text}"
        return text

    # --- Filling ---------------------------------------------------------------------------------

    def _fill(self, ranked: Ranked, budget: int, newest: Sequence[tuple[int, str]]) -> _Block:
        block = _Block(budget - MESSAGE_TOKENS - self.count(INTRO + "\n"))
        taken = {number for number, _ in newest}
        self._choose(ranked, block, taken)
        return block

    def _choose(self, ranked: Ranked, block: _Block, taken: set[int]) -> None:
        history = self.history
        twins: set[int] = set()
        misses = 0
        message_of = history.layout.message.values
        twin_of = history.twin.values
        for row, choice in self._candidates(ranked):
            if row in block.rows or message_of[row] in taken:
                continue
            twin = int(twin_of[row])
            if self.plan.once and twin in twins:
                continue
            cost = history.cost(row) + self._frame_cost(block, row)
            if cost > block.left:
                misses += 1
                if misses > _MISSES or block.left < 4:
                    break
                continue
            twins.add(twin)
            self._take(block, row, cost, choice)

    def _candidates(self, ranked: Ranked) -> Iterator[tuple[int, _Choice]]:
        rows = self.history.lines.rows
        closed = self.history.closed_by.values
        chosen = ranked.order
        for position in chosen.tolist():
            row = int(rows[position])
            if closed[row] < 0 or self.past:
                yield row, _Choice(row, "matches", float(ranked.scores[position]), {})
        if self.policy == "lean":
            return
        unscored = np.ones(len(rows), np.bool_)
        unscored[ranked.order] = False
        for position in np.flatnonzero(unscored)[::-1].tolist():
            row = int(rows[position])
            if closed[row] < 0 or self.past:
                yield row, _Choice(row, "newest", 0.0, {})

    def _frame_cost(self, block: _Block, row: int) -> int:
        number = int(self.history.layout.message.values[row])
        if number in block.messages:
            return 0
        message = self.history.entries[number].message
        cost = self.count(heading(message) + "\n")
        if (date := day(message)) and date not in block.days:
            cost += self.count(date + "\n")
        return cost

    def _take(self, block: _Block, row: int, cost: int, choice: _Choice) -> None:
        number = int(self.history.layout.message.values[row])
        block.left -= cost
        block.rows[row] = choice
        block.messages.add(number)
        if date := day(self.history.entries[number].message):
            block.days.add(date)

    # --- Printing --------------------------------------------------------------------------------

    def _emit(self, ranked: Ranked, block: _Block, newest: Sequence[tuple[int, str]]) -> Packed:
        content = self._print(block)
        while block.rows and self._price(content, newest) > self.budget:
            worst = list(block.rows)[-1]
            del block.rows[worst]
            content = self._print(block)
        messages = [PackedMessage("user", content)] if content else []
        for number, text in newest:
            role = self.history.entries[number].message.role
            messages.append(PackedMessage("assistant" if role == "assistant" else "user", text))
        n_tokens = sum(self.count(message.content) + MESSAGE_TOKENS for message in messages)
        lines = self._packed_lines(block, newest)
        return Packed(
            tuple(lines), tuple(messages), n_tokens, self._receipt(block, lines, n_tokens)
        )

    def _price(self, content: str, newest: Sequence[tuple[int, str]]) -> int:
        texts = [content, *(text for _, text in newest)]
        return sum(self.count(text) + MESSAGE_TOKENS for text in texts if text)

    def _print(self, block: _Block) -> str:
        if not block.rows:
            return ""
        rows = [INTRO]
        last, last_day = -1, ""
        for row in sorted(block.rows):
            number = int(self.history.layout.message.values[row])
            if number != last:
                message = self.history.entries[number].message
                if (date := day(message)) and date != last_day:
                    rows.append(date)
                    last_day = date
                rows.append(heading(message))
                last = number
            rows.append(self.history.shown(row, past=self.past))
        return "\n".join(rows)

    def _packed_lines(self, block: _Block, newest: Sequence[tuple[int, str]]) -> list[PackedLine]:
        lines = []
        for row in sorted(block.rows):
            choice = block.rows[row]
            entry, number = self.history.entry_of(row)
            lines.append(
                PackedLine(
                    entry.message.id, self.history.shown(row, past=self.past), choice.reason,
                    entry.lines[number].span, choice.score, choice.parts,
                )
            )  # fmt: skip
        for number, text in newest:
            entry = self.history.entries[number]
            lines.append(PackedLine(entry.message.id, text, "kept whole: newest"))
        return lines

    def _receipt(self, block: _Block, lines: Sequence[PackedLine], n_tokens: int) -> Receipt:
        line_tokens = sum(self.count(line.text) for line in lines)
        return Receipt(
            self.budget, n_tokens, line_tokens, n_tokens - line_tokens,
            len(self.history.lines.rows), len(block.rows), (), 0.0, self.policy, self.past,
            tuple(self.terms),
        )  # fmt: skip


__all__ = ["NOTE", "Entry", "LeftOut", "Packer", "Span", "asks_list"]
