"""The same question packed again: for another budget, or as a program without memory would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat import tree
from chat.inspecting.reading import Stored, refs_in
from chat.inspecting.turn import (
    moment_of,
    numbers_of,
    pack_of,
    pack_without_content,
)
from chat.inspecting.values import Pack, Piece
from chat.memory_reader import StoredMessages
from chat.models import Run
from chat.recall import MESSAGE_TOKENS, ConversationRecall
from chat.wiring import window_rule
from memory.service import HistoryMessage, count_tokens

Receipt = Mapping[str, Any]
LEAST_MOST = 4_096
N_STEPS = 64
READ_AT_ONCE = 40
MOST_READ = 1_000


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets that a slider offers: from none to twice the one of the turn, which is among
    them."""

    chosen: int
    least: int
    most: int
    step: int

    @property
    def fault(self) -> str:
        return f"Choose a budget between 0 and {self.most:,} tokens."

    def read(self, given: str) -> int | None:
        """A budget that somebody typed; None where it is none."""
        digits = given.strip().replace(",", "")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
            return None
        return int(digits) if int(digits) <= self.most else None


def budgets_of(receipt: Receipt) -> Budgets:
    chosen = int(receipt["budget_tokens"])
    most = max(2 * chosen, LEAST_MOST)
    step = _round(most // N_STEPS)
    least = chosen % step
    return Budgets(chosen, least, most + (least - most) % step, step)


def _round(number: int) -> int:
    """Down to one that people count in: 1, 2 or 5 with zeros."""
    power = 1
    while 10 * power <= number:
        power *= 10
    return power * max(digit for digit in (1, 2, 5) if digit * power <= max(number, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Repacked:
    """Another pack of the turn's question against the stored one: what comes in, what goes out.

    A message that enters the window whole brings its lines with it: they do not count as gone.
    """

    pack: Pack
    before: Pack
    comes_in: Sequence[Piece]
    goes_out: Sequence[Piece]

    @property
    def budget_tokens(self) -> int:
        return self.pack.meter.budget_tokens

    @property
    def is_same(self) -> bool:
        return not (self.comes_in or self.goes_out)

    @property
    def summary(self) -> str:
        """The result in one sentence, for the eye and the ear."""
        head = f"With {self.budget_tokens:,} tokens"
        used = f"{self.pack.meter.used_tokens:,} tokens used."
        if self.is_same:
            return f"{head} the model would have seen the same. {used}"
        comes = _counted(self.comes_in, "comes in", "come in")
        goes = _counted(self.goes_out, "goes out", "go out")
        return f"{head} {comes} and {goes}. {used}"


def repacked(run: Run, budget_tokens: int, *, with_content: bool = True) -> Repacked:
    """Packs the question of a run again: what it stands on now, by the rules of now."""
    recall = ConversationRecall(run, window_rule(), moment_of(run))
    receipt = recall.packed(run.question.text, budget_tokens)
    refs = refs_in(run.receipt) | refs_in(receipt)
    stored = Stored(run.conversation, refs, numbers_of(run))
    pack, before = pack_of(receipt, stored), pack_of(run.receipt, stored)
    if not with_content:
        pack, before = pack_without_content(pack), pack_without_content(before)
    return Repacked(
        pack=pack,
        before=before,
        comes_in=_not_in(pack, before, "in"),
        goes_out=_not_in(before, pack, "out"),
    )


def _not_in(pack: Pack, other: Pack, change: str) -> list[Piece]:
    """The whole messages and the lines of a pack that another one does not show."""
    whole = {piece.ref for piece in other.window}
    keys = {line.key for piece in other.older for line in piece.lines}
    found = [replace(one, change=change) for one in pack.window if one.ref not in whole]
    for piece in pack.older:
        lines = [line for line in piece.lines if piece.ref not in whole and line.key not in keys]
        if lines:
            n_tokens = sum(line.n_tokens for line in lines)
            found.append(replace(piece, lines=lines, n_tokens=n_tokens, change=change))
    return found


def _counted(pieces: Sequence[Piece], verb: str, verbs: str) -> str:
    n_messages = sum(piece.whole for piece in pieces)
    n_lines = sum(len(piece.lines) for piece in pieces if not piece.whole)
    if not (n_messages or n_lines):
        return f"nothing {verb}"
    parts = [_plural(n_messages, "whole message")] if n_messages else []
    parts += [_plural(n_lines, "line")] if n_lines else []
    return f"{' and '.join(parts)} {verb if n_messages + n_lines == 1 else verbs}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# --- The newest only ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestOnly:
    """Two ways to fill one budget: the pack of the turn, and the newest messages and pages whole
    until one does not fit. A piece with a `change` is in one column alone."""

    pack: Pack
    chosen: Sequence[Piece]
    newest: Sequence[Piece]
    n_lines_missed: int
    n_newest_tokens: int

    @property
    def summary(self) -> str:
        missed, n_lines = self.n_lines_missed, self.pack.n_older_lines
        if not n_lines:
            return "No older line was needed: both show the newest messages."
        if not missed:
            return f"The newest alone would have shown all {n_lines:,} of the older lines too."
        return f"The newest alone would have missed {missed:,} of {_plural(n_lines, 'older line')}."


def newest_only(run: Run, *, with_content: bool = True) -> NewestOnly:
    budget = int(run.receipt["budget_tokens"])
    parts = list(_newest_parts(run, budget))
    shown = {str(part.id): tokens for part, tokens in parts}
    stored = Stored(run.conversation, refs_in(run.receipt) | set(shown), numbers_of(run))
    pack = pack_of(run.receipt, stored)
    newest = [stored.whole(ref, tokens) for ref, tokens in shown.items()]
    if not with_content:
        pack = pack_without_content(pack)
        newest = list(pack_without_content(replace(pack, window=newest)).window)
    missed = [piece for piece in pack.older if piece.ref and piece.ref not in shown]
    chosen = {piece.ref for piece in (*pack.window, *pack.older)}
    return NewestOnly(
        pack=pack,
        chosen=[_marked(piece, piece.ref not in shown) for piece in (*pack.older, *pack.window)],
        newest=[_marked(piece, piece.ref not in chosen) for piece in newest],
        n_lines_missed=sum(len(piece.lines) for piece in missed),
        n_newest_tokens=sum(shown.values()),
    )


def _marked(piece: Piece, is_alone: bool) -> Piece:
    return replace(piece, change="alone" if is_alone else "")


def _newest_parts(run: Run, budget: int) -> Iterator[tuple[HistoryMessage, int]]:
    """What was said and read before the question, the newest that fit, oldest first."""
    kept: list[tuple[HistoryMessage, int]] = []
    for part in _backwards(run):
        n_tokens = count_tokens(part.text) + MESSAGE_TOKENS
        if n_tokens > budget:
            break
        budget -= n_tokens
        kept.append((part, n_tokens))
    return reversed(kept)


def _backwards(run: Run) -> Iterator[HistoryMessage]:
    path = tree.path_ids(run.conversation_id, run.question.parent_id)[-MOST_READ:]
    for end in range(len(path), 0, -READ_AT_ONCE):
        ids = path[max(0, end - READ_AT_ONCE) : end]
        found = {one.pk: one for one in StoredMessages().read(ids)}
        for pk in reversed(ids):
            yield from reversed(found[pk].parts)
