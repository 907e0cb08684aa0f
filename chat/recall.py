"""What of the conversation the model sees: the Recall port over the store and memory.

The newest messages whole, summaries of what is older, and the older lines that the question needs.
The receipt tells where the budget went. It names messages and places and holds no text: what is
deleted leaves no trace in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from itertools import groupby
from typing import Any

from chat import store
from chat.agent.quoting import quote_earlier, quote_summaries
from chat.agent.sources import SourceRegistry
from chat.agent.values import Earlier, EarlierLines, EarlierSource, History, SummaryText
from chat.agent.window import message_cost, note_cost, window, window_start
from chat.database import in_database
from chat.metrics import RECALL
from chat.models import Run
from memory import service as memory
from memory.service import count_tokens

SUMMARY_SHARE = 0.5
"""Of what the window leaves, the most that summaries may take; the rest is for older lines."""
QUOTED_SHARE = 0.8
"""What is left of the room for summaries once they are quoted."""
MESSAGE_TOKENS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRule:
    """`share` of the budget that the newest messages may fill before only `newest` stay."""

    newest: int
    share: float


@dataclass(frozen=True, slots=True)
class _Line:
    """A packed line. `ref` is "m12" for a message, "s34" for a source, "" for a counted list."""

    ref: str
    start: int
    end: int
    text: str
    reason: str
    score: float
    parts: Mapping[str, float]


class ConversationRecall:
    """Recalls for one run. After `recall` its `receipt` says what was chosen and why.

    `beside` is told in the receipt too: what the prompt holds beside the conversation.
    """

    def __init__(
        self,
        run: Run,
        rule: WindowRule,
        now: datetime,
        *,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        self._run = run
        self._rule = rule
        self._now = now
        self._beside = dict(beside or {})
        self._n_packed = 0
        self._window_before: int | None = None
        self.receipt: dict[str, Any] = {}

    async def recall(self, question: str, *, budget_tokens: int) -> History:
        with RECALL.time():
            return await in_database(self._recall_and_note)(question, budget_tokens)

    def packed(self, question: str, budget_tokens: int) -> dict[str, Any]:
        """The receipt of what would be chosen within another budget. Nothing is stored."""
        self._recall(question, budget_tokens)
        return self.receipt

    def _recall_and_note(self, question: str, budget: int) -> History:
        history = self._recall(question, budget)
        store.note_receipt(self._run.pk, self.receipt)
        first = self.receipt["window_from"]
        if history.n_visible < history.n_total and first not in (None, self._window_before):
            memory.left_window(*self._place(), before_id=first)
        return history

    def _recall(self, question: str, budget: int) -> History:
        self._n_packed += 1
        self._window_before = store.window_before(self._run)
        said, n_total = self._window(budget)
        history = window([one.message for one in said], n_total=n_total)
        costs = [message_cost(one.message, count_tokens) for one in said]
        left = budget - sum(costs) - (note_cost(n_total, count_tokens) if history.note else 0)
        summaries, rows = self._summaries(said, int(left * SUMMARY_SHARE))
        left -= sum(row["tokens"] for row in rows)
        earlier, packed = self._earlier(question, [one.pk for one in said], left)
        self.receipt = {
            **self._beside,
            "budget_tokens": budget,
            "packed_again": self._n_packed - 1,
            "visible": history.n_visible,
            "total": n_total,
            "window_from": said[0].pk if said else None,
            "window": [
                {"message": one.pk, "tokens": cost} for one, cost in zip(said, costs, strict=True)
            ],
            "summaries": rows,
            **packed,
        }
        n_tokens = budget - left + packed["earlier_tokens"]
        return replace(history, summaries=summaries, earlier=earlier, n_tokens=n_tokens)

    # --- The newest, whole -----------------------------------------------------------------------

    def _window(self, budget: int) -> tuple[list[store.Said], int]:
        said, n_total = store.said_before(self._run, self._window_before)
        costs = [message_cost(one.message, count_tokens) for one in said]
        room = min(int(self._rule.share * budget), budget - note_cost(n_total, count_tokens))
        start = window_start(costs, 0, limit_tokens=max(0, room), newest=self._rule.newest)
        return said[start:], n_total

    def _place(self) -> tuple[int, int, int | None]:
        run = self._run
        return run.owner_id, run.conversation_id, run.question.parent_id

    # --- What stands for the older ---------------------------------------------------------------

    def _summaries(
        self, said: Sequence[store.Said], room: int
    ) -> tuple[list[SummaryText], list[dict[str, int]]]:
        """The summaries of what is older than `said`, with what each costs as it is quoted."""
        before = said[0].pk if said else None
        found = memory.summaries(
            *self._place(), before_id=before, budget_tokens=int(QUOTED_SHARE * room)
        )
        texts = [self._told(one) for one in found]
        while texts and _cost(quote_summaries(texts)) > room:
            texts, found = texts[1:], found[1:]
        rows = [
            {"summary": one.summary_id, "tokens": _cost(quote_summaries([text]))}
            for one, text in zip(found, texts, strict=True)
        ]
        return texts, rows

    def _told(self, one: memory.SummaryText) -> SummaryText:
        days = [
            f"{at.astimezone(self._now.tzinfo):%Y-%m-%d}"
            for at in (one.first_at, one.last_at)
            if at
        ]
        return SummaryText(
            on=" to ".join(dict.fromkeys(days)), n_messages=one.n_messages, text=one.text
        )

    # --- The older lines that the question needs -------------------------------------------------

    def _earlier(
        self, question: str, visible: Sequence[int], room: int
    ) -> tuple[Earlier, dict[str, Any]]:
        packed = memory.recall(
            *self._place(),
            question,
            max(0, room),
            now=self._now,
            shown=[f"m{pk}" for pk in visible],
            first_source=None,
            policy="lean",
        )
        lines = [
            _Line(
                str(line.message_id or ""),
                line.span.start if line.span else 0,
                line.span.end if line.span else 0,
                line.text,
                line.reason,
                line.score,
                line.parts,
            )
            for line in packed.lines
        ]
        rows = _Rows(self._run, lines, self._now.tzinfo)
        earlier, tokens = rows.quoted(lines)
        n_unquoted = 0
        while tokens > room and lines:
            n_unquoted += len(lines) - len(lines := _without_least(lines, room / tokens))
            earlier, tokens = rows.quoted(lines)
        return earlier, {
            "earlier_tokens": tokens,
            "lines": [_line_row(line) for line in lines],
            "left_out": {
                **{one.reason: one.n_lines for one in packed.receipt.left_out},
                **({"no room for its frame": n_unquoted} if n_unquoted else {}),
            },
            "n_lines": packed.receipt.n_lines,
            "pressure": round(packed.receipt.pressure, 4),
            "asks_past": packed.receipt.asks_past,
            "terms": list(packed.receipt.question_terms),
            "notices": list(packed.receipt.notices),
        }


class _Rows:
    """What packed lines belong to: who said it and when, or where it was read."""

    def __init__(self, run: Run, lines: Sequence[_Line], zone: tzinfo | None) -> None:
        self._zone = zone
        said = {int(line.ref[1:]) for line in lines if line.ref.startswith("m")}
        read = {int(line.ref[1:]) for line in lines if line.ref.startswith("s")}
        self._said = store.said_rows(run, list(said)) if said else {}
        self._read = store.earlier_sources(run, list(read)) if read else {}

    def quoted(self, lines: Sequence[_Line]) -> tuple[Earlier, int]:
        """The lines as the model gets them, and what they cost so."""
        earlier = self._earlier(lines)
        if not earlier:
            return earlier, 0
        registry = SourceRegistry()
        shown = [registry.add_earlier(one) for one in earlier.sources]
        # The numbers of the turn may be longer than those counted here.
        return earlier, _cost(quote_earlier(earlier, shown)) + len(shown)

    def _earlier(self, lines: Sequence[_Line]) -> Earlier:
        said, sources = [], []
        for ref, group in groupby(lines, key=lambda line: line.ref):
            texts = list(group)
            if ref.startswith("m") and (row := self._said.get(int(ref[1:]))):
                on = row.created_at.astimezone(self._zone).date().isoformat()
                lines_of_it = tuple(one.text for one in texts)
                user = row.role == row.Role.USER
                said.append(
                    EarlierLines(who="user" if user else "assistant", on=on, lines=lines_of_it)
                )
            elif ref.startswith("s") and (source := self._read.get(int(ref[1:]))):
                sources.append(
                    EarlierSource(
                        ref=ref,
                        title=source.title,
                        url=source.url,
                        provider=source.provider,
                        read_at=source.read_at,
                        published_at=source.published_at,
                        passages=tuple(_joined(texts)),
                    )
                )
        counts = [line.text for line in lines if not line.ref]
        return Earlier(said=said, counts=counts, sources=sources)


def _joined(lines: Iterable[_Line]) -> list[str]:
    """Lines that lie side by side as one passage."""
    passages: list[str] = []
    end = -2
    for line in lines:
        if passages and line.start - end <= 1:
            passages[-1] += f"\n{line.text}"
        else:
            passages.append(line.text)
        end = line.end
    return passages


def _without_least(lines: Sequence[_Line], share: float) -> list[_Line]:
    """At least one line less, and about as many as fit: those with the lowest scores go."""
    n_kept = min(len(lines) - 1, int(len(lines) * share))
    best = sorted(range(len(lines)), key=lambda at: (-lines[at].score, at))[:n_kept]
    return [lines[at] for at in sorted(best)]


def _line_row(line: _Line) -> dict[str, Any]:
    if not line.ref:
        # What was counted names pages and searches: only the title of the list is kept.
        return {"list": line.text.split(" (", 1)[0], "tokens": count_tokens(line.text)}
    return {
        "ref": line.ref,
        "start": line.start,
        "end": line.end,
        "reason": line.reason,
        "score": round(line.score, 6),
        "parts": {name: round(part, 6) for name, part in line.parts.items()},
        "tokens": count_tokens(line.text),
    }


def _cost(text: str) -> int:
    return count_tokens(text) + MESSAGE_TOKENS
