"""Filling a budget with the lines that a question needs.

Bands: relevant and still so; then, only to use what is left of the budget, the rest, newest first.
Closed versions stay out, unless the question is about the past. The count is the real counter's,
over exactly what is printed: pieces are added by what they cost alone, the whole is counted once it
stands, and gives back its last lines should it cost more than its pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from memory.engine.asking import asks_list, asks_past
from memory.engine.frames import INTRO, NOTE, day, heading
from memory.engine.history import History
from memory.engine.ledger import LIST_SHARE, QUIET_SHARE, Topic
from memory.engine.question import ask
from memory.engine.ranker import Positions, Ranked, rank
from memory.engine.values import (
    LeftOut,
    Packed,
    PackedLine,
    PackedMessage,
    Policy,
    Receipt,
)

MESSAGE_TOKENS = 4
"""What a chat format adds to every message, on the safe side."""
_SEEN = "the model sees it anyway"
_LINE_TOKENS = 8
"""What a line costs at least, nearly always: so many lines are put in order at first as may fit."""
_FEWEST = 256
_MISSES = 40
"""So many lines in a row that do not fit end the search for one that does."""


_Candidate: TypeAlias = tuple[int, float, int, bool]
"""A row with its score, the number of its message, and whether it is no longer so."""


@dataclass(slots=True)
class _Block:
    """The excerpts chosen so far; `left` is what remains of the budget, on the safe side. `printed`
    are the rows as they were printed last: in order, with the number of their message."""

    left: int
    lists: list[str] = field(default_factory=list)
    rows: dict[int, float] = field(default_factory=dict)
    shown: set[int] = field(default_factory=set)
    messages: set[int] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)
    printed: list[tuple[int, int, str]] = field(default_factory=list)


class Packer:
    def __init__(
        self,
        history: History,
        question: str,
        budget_tokens: int,
        *,
        now: datetime | None = None,
        policy: Policy = "fill",
        keep_newest: int = 0,
        shown: Collection[str | int] = (),
        first_source: int | None = None,
    ) -> None:
        self.history = history
        self.plan = history.plan
        self.question = question
        self.budget = max(0, budget_tokens)
        self.policy: Policy = policy
        self.keep_newest = keep_newest
        self.seen = history.numbers_of(shown)
        self.first_source = first_source
        self.count = history.count_tokens
        self.past = asks_past(question) and self.plan.supersede
        self.asked = ask(history, question, now)

    def pack(self, ranked: Ranked | None = None) -> Packed:
        """`ranked` spares the ranking where one question is packed for several budgets."""
        newest, spent = self._newest()
        ranked = ranked or rank(self.history, self.asked)
        block = _Block(self.budget - spent - MESSAGE_TOKENS - self.count(INTRO + "\n"))
        self._add_lists(block)
        taken = {number for number, _ in newest}
        block.left_out[_SEEN] = sum(map(self.history.n_lines_of, self.seen - taken))
        self._choose(ranked, block, taken | self.seen)
        return self._emit(ranked, block, newest)

    # --- The newest messages, whole --------------------------------------------------------------

    def _newest(self) -> tuple[list[tuple[int, str]], int]:
        """The newest messages that fit, oldest first, as they are printed, and what they cost."""
        kept: list[tuple[int, str]] = []
        spent = 0
        n = len(self.history.entries)
        self.history.read_entries(range(max(0, n - self.keep_newest), n))
        for number in range(n - 1, -1, -1):
            if len(kept) >= self.keep_newest:
                break
            text = self._whole(number)
            cost = self.count(text) + MESSAGE_TOKENS
            if text and spent + cost > self.budget:
                break
            if text:
                spent += cost
                kept.append((number, text))
        return kept[::-1], spent

    def _whole(self, number: int) -> str:
        """A message with every line of it that is still so."""
        history = self.history
        entry = history.entries[number]
        rows = range(entry.first_row, entry.first_row + len(entry.lines))
        if any(history.is_closed(row) or history.is_renewed(row) for row in rows):
            open_rows = [row for row in rows if self.past or not history.is_closed(row)]
            text = "\n".join(history.shown(row, past=self.past) for row in open_rows)
        else:
            text = entry.text.strip()
        if text and entry.message.role == "tool":
            return f"{heading(entry.message)}\n{text}"
        return text

    # --- Filling ---------------------------------------------------------------------------------

    def _add_lists(self, block: _Block) -> None:
        """What was done, counted: fully where the question asks, else only where it is cheap."""
        ledger = self.history.ledger
        if not self.plan.ledger:
            return
        asked = set(ledger.topics(self.question)) if asks_list(self.question) else set()
        for topic in sorted(ledger.tallies, key=lambda topic: topic not in asked):
            share = LIST_SHARE if topic in asked else QUIET_SHARE
            allowed = min(block.left, int(share * self.budget))
            n_names = self._fitting(topic, allowed, whole=topic not in asked)
            if n_names:
                entry = ledger.entry(topic, n_names)
                block.lists.append(entry)
                block.left -= self.count(entry + "\n")

    def _fitting(self, topic: Topic, allowed: int, *, whole: bool) -> int:
        """How many names of a counted list fit, the newest first; `whole`: all of them or none."""
        size = self.history.ledger.size(topic)
        most = min(size, allowed)  # a name costs a token at least
        if whole and most < size:
            return 0
        if self._list_fits(topic, most, allowed):
            return most
        if whole:
            return 0
        fits, too_many = 0, most
        while too_many - fits > 1:
            tried = (fits + too_many) // 2
            if self._list_fits(topic, tried, allowed):
                fits = tried
            else:
                too_many = tried
        return fits

    def _list_fits(self, topic: Topic, n_names: int, allowed: int) -> bool:
        return self.count(self.history.ledger.entry(topic, n_names) + "\n") <= allowed

    def _choose(self, ranked: Ranked, block: _Block, taken: set[int]) -> None:
        history, past, once = self.history, self.past, self.plan.once
        same_of, cost_of = history.same, history.cost
        misses = 0
        for row, score, number, is_closed in self._candidates(ranked, block):
            if number in taken:
                continue
            if is_closed and not past:
                block.left_out["no longer so"] += 1
                continue
            same = same_of(row, past=past)
            if once and same in block.shown:
                block.left_out["shown already"] += 1
                continue
            cost = cost_of(row, past=past)
            is_new = number not in block.messages
            if is_new:
                cost += self._frame_cost(block, number)
            if cost > block.left:
                misses += 1
                if misses > _MISSES or block.left < 4:
                    break
                continue
            misses = 0
            block.left -= cost
            block.rows[row] = score
            block.shown.add(same)
            if is_new:
                block.messages.add(number)
                block.days.add(day(history.entries[number].message))

    def _candidates(self, ranked: Ranked, block: _Block) -> Iterator[_Candidate]:
        """Best first; after those that are ranked those that are not, newest first."""
        if self.policy == "lean":
            yield from self._known(ranked, ranked.relevant(), block)
            return
        for positions in ranked.in_pieces(max(_FEWEST, block.left // _LINE_TOKENS)):
            yield from self._known(ranked, positions, block)
        yield from self._known(ranked, ranked.unranked()[::-1], block)

    def _known(self, ranked: Ranked, positions: Positions, block: _Block) -> Iterator[_Candidate]:
        """The candidates at these positions, with what is known of them."""
        history = self.history
        rows = history.layout.rows.values[positions]
        while len(rows):
            n = history.read_ahead(rows, block.left)
            some = rows[:n]
            yield from zip(
                some.tolist(),
                ranked.scores[positions[:n]].tolist(),
                history.layout.message.values[some].tolist(),
                (history.closed_by.values[some] >= 0).tolist(),
                strict=True,
            )
            rows, positions = rows[n:], positions[n:]

    def _frame_cost(self, block: _Block, number: int) -> int:
        """What a message's heading costs, and its day where it is the first of it."""
        message = self.history.entries[number].message
        if self.first_source is None or message.role != "tool":
            cost = self.history.heading_cost(number)
        else:  # a number as long as any that it can get: they are given when all is chosen
            source = self.first_source + len(block.messages)
            cost = self.count(heading(message, source) + "\n")
        date = day(message)
        return cost + (self.count(date + "\n") if date and date not in block.days else 0)

    # --- Printing --------------------------------------------------------------------------------

    def _emit(self, ranked: Ranked, block: _Block, newest: Sequence[tuple[int, str]]) -> Packed:
        messages = self._messages(block, newest)
        n_tokens = self._price(messages)
        while n_tokens > self.budget and (block.rows or block.lists):
            if block.rows:
                block.rows.pop(next(reversed(block.rows)))
            else:
                block.lists.pop()
            messages = self._messages(block, newest)
            n_tokens = self._price(messages)
        lines = self._packed_lines(ranked, block, newest)
        receipt = self._receipt(ranked, block, newest, n_tokens)
        return Packed(lines, messages, n_tokens, receipt, self._numbered(block))

    def _price(self, messages: Sequence[PackedMessage]) -> int:
        return sum(self.count(message.content) + MESSAGE_TOKENS for message in messages)

    def _messages(
        self, block: _Block, newest: Sequence[tuple[int, str]]
    ) -> tuple[PackedMessage, ...]:
        content = self._print(block)
        messages = [PackedMessage("user", content)] if content else []
        for number, text in newest:
            said = self.history.entries[number].message.role
            messages.append(PackedMessage("assistant" if said == "assistant" else "user", text))
        if newest and not content and newest[0][0] > 0:
            note = PackedMessage("user", NOTE)
            messages = (
                [note, *messages] if self._price([note, *messages]) <= self.budget else messages
            )
        return tuple(messages)

    def _print(self, block: _Block) -> str:
        rows = sorted(block.rows)
        numbers = self.history.layout.message.values[rows].tolist()
        texts = [self.history.shown(row, past=self.past) for row in rows]
        block.printed = list(zip(rows, numbers, texts, strict=True))
        if not block.rows and not block.lists:
            return ""
        sources = self._sources(block)
        printed = [INTRO, *block.lists]
        last, last_day = -1, ""
        for _, number, text in block.printed:
            if number != last:
                message = self.history.entries[number].message
                if (date := day(message)) and date != last_day:
                    printed.append(date)
                    last_day = date
                printed.append(heading(message, sources.get(number)))
                last = number
            printed.append(text)
        return "\n".join(printed)

    def _sources(self, block: _Block) -> dict[int, int]:
        """The source's number of every packed message of a tool, one a target."""
        if self.first_source is None:
            return {}
        message_of = self.history.layout.message.values
        by_target: dict[tuple[str, str | int], int] = {}
        sources = {}
        for number in sorted({int(message_of[row]) for row in block.rows}):
            message = self.history.entries[number].message
            if message.role == "tool":
                target = ("at", message.target) if message.target else ("of", message.id)
                sources[number] = by_target.setdefault(target, self.first_source + len(by_target))
        return sources

    def _numbered(self, block: _Block) -> tuple[tuple[int, tuple[str | int, ...]], ...]:
        """The sources by number with the ids of their messages."""
        ids: dict[int, list[str | int]] = {}
        for number, source in self._sources(block).items():
            ids.setdefault(source, []).append(self.history.entries[number].message.id)
        return tuple((source, tuple(held)) for source, held in ids.items())

    def _packed_lines(
        self, ranked: Ranked, block: _Block, newest: Sequence[tuple[int, str]]
    ) -> tuple[PackedLine, ...]:
        rows = [row for row, _, _ in block.printed]
        positions = [row - number - 1 for row, number, _ in block.printed]
        self.history.before_reasons(rows)
        parts = ranked.parts(positions)
        reasons = self._reasons(rows, ranked.words.take(positions).tolist(), parts)
        lines = [PackedLine(None, entry, "counted list") for entry in block.lists]
        for (row, number, text), reason, part in zip(block.printed, reasons, parts, strict=True):
            entry = self.history.entries[number]
            span = entry.lines[row - entry.first_row].span
            lines.append(
                PackedLine(entry.message.id, text, reason, span, block.rows[row], part),
            )
        lines += [
            PackedLine(self.history.entries[number].message.id, text, "newest, kept whole")
            for number, text in newest
        ]
        return tuple(lines)

    def _reasons(
        self,
        rows: Sequence[int],
        by_words: Sequence[float],
        parts: Sequence[Mapping[str, float]],
    ) -> list[str]:
        """Why each line is there, in words a person can check: the rarest terms first."""
        history = self.history
        # The beginnings of words are among the terms, too: they tell a reader nothing.
        terms = [term for term in history.by_rarity(self.asked.terms) if "…" not in term]
        closed = (history.closed_by.values[rows] >= 0).tolist()
        reasons = []
        for row, words, part, matched, is_closed in zip(
            rows, by_words, parts, history.index.matched(rows, terms), closed, strict=True
        ):
            if words > 0:
                near = "near a line with the question's words"
                reason = f"has {', '.join(matched[:4])}" if matched else near
            else:
                reason = "close in meaning" if part else "newest that fits"
            times = history.times(row)
            if times > 1 and self.plan.once:
                reason += f"; shown once of {times}"
            reasons.append(f"{reason}; no longer so" if is_closed else reason)
        return reasons

    def _receipt(
        self,
        ranked: Ranked,
        block: _Block,
        newest: Sequence[tuple[int, str]],
        n_tokens: int,
    ) -> Receipt:
        line_tokens = sum(self.history.cost(row, past=self.past) for row in block.rows)
        line_tokens += sum(self.count(text) for _, text in newest)
        line_tokens = min(line_tokens, n_tokens)
        n_lines = self.history.layout.n_lines
        n_newest = sum(len(self.history.entries[number].lines) for number, _ in newest)
        left_out = block.left_out
        rest = n_lines - len(block.rows) - n_newest - left_out.total()
        reason = "not relevant" if self.policy == "lean" else "no room"
        return Receipt(
            budget_tokens=self.budget,
            n_tokens=n_tokens,
            line_tokens=line_tokens,
            frame_tokens=n_tokens - line_tokens,
            n_lines=n_lines,
            n_packed=len(block.rows) + n_newest,
            left_out=tuple(
                LeftOut(why, n) for why, n in [*sorted(left_out.items()), (reason, rest)] if n
            ),
            pressure=self.history.pressure(self.budget),
            policy=self.policy,
            asks_past=self.past,
            question_terms=tuple(self.asked.terms),
            notices=(*self.history.notices, *ranked.notices),
        )
