"""A history and what is known of it: the work is done once, when a message is added."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from memory.engine.analysis import Analysed, analyse, show_written
from memory.engine.calls import Call
from memory.engine.columns import Column
from memory.engine.dates import Dated
from memory.engine.errors import EmbedderFailed
from memory.engine.facts import Facts
from memory.engine.fetching import AtHand
from memory.engine.frames import GONE
from memory.engine.index import LineIndex
from memory.engine.layout import Layout
from memory.engine.ledger import Ledger
from memory.engine.lines import Line
from memory.engine.plan import Plan
from memory.engine.ports import Embedder
from memory.engine.terms import terms_of
from memory.engine.tokens import CountTokens, estimate_tokens
from memory.engine.values import Message, Packed, Policy
from memory.engine.vectors import Vectors, readable
from memory.engine.versions import Row, Versions

# Turns further apart than this are two talks: what stands beside what ends there.
_PAUSE = timedelta(hours=6)
_CONTEXT_CHARS = 200
_ENCLOSING_CHARS = 80


@dataclass(frozen=True, slots=True)
class Entry:
    """A message as it is remembered: its record, the lines of it, the row of the first line."""

    message: Message
    text: str
    lines: tuple[Line, ...]
    first_row: int
    call: Call | None

    def line_text(self, number: int) -> str:
        return self.lines[number].of(self.text)


class History(AtHand):
    """Messages in order, indexed as they come. `pack` chooses what of them a model should see."""

    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        embedder: Embedder | None = None,
        count_tokens: CountTokens | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.embedder = embedder
        self.count_tokens: CountTokens = count_tokens or estimate_tokens
        self.plan = plan or Plan()
        self._clear()
        for message in messages:
            self.add(message)

    def _clear(self) -> None:
        self.index = LineIndex()
        self.layout = Layout(self.plan)
        self.entries: list[Entry] = []
        self.ledger = Ledger()
        self.facts = Facts()
        self.closed_by = Column(np.int32)
        self.vectors = Vectors(self.embedder.dimensions) if self.embedder else None
        self.notices: list[str] = []
        self.n_unencoded = 0
        self._texts: dict[int, str] = {}
        self._dates: dict[int, list[Dated]] = {}
        self._costs: dict[int, int] = {}
        self._past_costs: dict[int, int] = {}
        self._shown: dict[int, str] = {}
        self._numbers_of_texts: dict[str, int] = {}
        self._same = array("i")
        self._times = array("i")
        self.n_bytes = 0
        self._numbers: dict[str | int, int] = {}
        self._speakers: dict[str, int] = {}
        self._versions = Versions()

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._numbers

    # --- Writing ---------------------------------------------------------------------------------

    def add(self, message: Message) -> None:
        """Take in a message. Raises ValueError for an id that is there already."""
        if message.id in self._numbers:
            raise ValueError(f"message {message.id!r} is there already")
        analysed = analyse(message, with_dates=self.plan.dates)
        first_row = self.layout.n_rows + 1
        entry = Entry(message, analysed.text, analysed.lines, first_row, analysed.call)
        self._numbers[message.id] = len(self.entries)
        joins = joins_talk(self.entries[-1].message if self.entries else None, message)
        self.entries.append(entry)
        self._index_lines(analysed, first_row, joins)
        if entry.call:
            self._note_call(entry, entry.call)
        elif message.role == "user" and self.plan.supersede:
            self._note_facts(entry)
        self._encode(entry, joins)

    def _index_lines(self, analysed: Analysed, first_row: int, joins: bool) -> None:
        message = analysed.message
        self.index.extend([analysed.heading, *analysed.terms])
        self._same.append(-1)
        text = analysed.text
        for line in analysed.lines:
            same = self._text_number(text[line.body : line.end])
            self._same.append(same)
            self._times[same] += 1
        self._dates |= {first_row + number: dates for number, dates in analysed.dates.items()}
        self.n_bytes += n_bytes_of(analysed.text)
        self.layout.add(
            len(self.entries) - 1,
            heading_length=len(analysed.heading),
            lengths=[len(terms) for terms in analysed.terms],
            n_inside=[line.n_inside for line in analysed.lines],
            speaker=self._speaker(message),
            is_talk=message.role != "tool",
            by_user=message.role == "user",
            joins_group=joins,
        )
        self.closed_by.extend(-1, len(analysed.lines) + 1)

    def _text_number(self, text: str) -> int:
        """The number of a text without numbers and indentation: equal for equal lines."""
        number = self._numbers_of_texts.setdefault(text, len(self._times))
        if number == len(self._times):
            self._times.append(0)
        return number

    def _speaker(self, message: Message) -> int:
        name = message.speaker or ""
        return self._speakers.setdefault(name, len(self._speakers)) if name else -1

    def _encode(self, entry: Entry, joins: bool) -> None:
        """Encode a message's lines. A failure is noted and leaves them to be found by words."""
        if self.embedder is None or self.vectors is None:
            return
        self.vectors.extend(len(entry.lines) + 1)
        if entry.message.role == "tool" and not self.plan.encode_output:
            return
        texts, contexts = self._to_encode(entry, joins)
        try:
            embeddings = self.embedder.encode(texts, contexts) if texts else []
        except EmbedderFailed as error:
            self.notices.append(str(error))
            return
        talk = entry.message.role != "tool"
        for number, embedding in enumerate(embeddings):
            if embedding is None:
                self.n_unencoded += 1
                continue
            self.vectors.add(entry.first_row + number, embedding, with_tokens=talk)

    def _to_encode(self, entry: Entry, joins: bool) -> tuple[list[str], list[str]]:
        before = self.entries[-2] if joins else None
        return to_encode(entry, before)

    def _note_facts(self, entry: Entry) -> None:
        subject = entry.message.speaker or entry.message.role
        for number in range(len(entry.lines)):
            row = entry.first_row + number
            closed = self.facts.note(subject, entry.line_text(number), row, entry.message.at)
            if closed is not None:
                self.closed_by.values[closed] = len(self.entries) - 1

    def _note_call(self, entry: Entry, call: Call) -> None:
        self.ledger.note(call, ok=entry.message.ok)
        number = len(self.entries) - 1
        rows = rows_of(entry)
        if call.kind == "change" and call.old is not None:
            for row in rows:
                if row.text.startswith("- "):
                    self.closed_by.values[row.row] = number
        if not self.plan.supersede:
            return
        closing = self._versions.note(call, rows, ok=entry.message.ok)
        self.closed_by.values[closing.closed] = number
        self._texts.update(closing.texts)
        for row_number in closing.texts:
            self._costs.pop(row_number, None)
            self._shown.pop(row_number, None)

    def remove(self, message_id: str | int) -> None:
        """Forget a message and everything that followed from it. Raises KeyError.

        What it had closed is current again; the rest is as if it had never been there. All is
        added anew: it costs as much as that.
        """
        number = self._numbers[message_id]
        kept = [entry.message for at, entry in enumerate(self.entries) if at != number]
        self._clear()
        for message in kept:
            self.add(message)

    # --- Reading ---------------------------------------------------------------------------------

    def terms(self, text: str) -> list[str]:
        return terms_of(text)

    def named_speakers(self, terms: Sequence[str]) -> list[int]:
        """The speakers whose names are among the terms of a question."""
        asked = set(terms)
        return [n for name, n in self._speakers.items() if not asked.isdisjoint(terms_of(name))]

    def entry_of(self, row: int) -> tuple[Entry, int]:
        """The message of a row, and the number of the line in it."""
        entry = self.entries[self.layout.message.at(row)]
        return entry, row - entry.first_row

    def shown(self, row: int, *, past: bool = False) -> str:
        """A line as it is printed: as it is now, or for the past as it was written."""
        if past:
            return self._show(row, past=True)
        known = self._shown.get(row)
        if known is None:
            known = self._shown[row] = self._show(row, past=False)
        return known

    def _show(self, row: int, *, past: bool) -> str:
        entry, number = self.entry_of(row)
        line = entry.lines[number]
        renewed = self._texts.get(row)
        if renewed is not None and not past:
            return renewed
        dates = self._dates.get(row, ())
        shown = show_written(entry.line_text(number), line.body - line.start, dates)
        if dates:
            return shown
        told = shown.startswith("- ")
        gone = past and not told and (renewed is not None or self.is_closed(row))
        return f"{shown}{GONE}" if gone else shown

    def same(self, row: int, *, past: bool = False) -> int:
        """A number that lines share whose texts are equal but for numbers and indentation."""
        if not past and row in self._texts:
            return self._text_number(self._texts[row])
        return self._same[row]

    def times(self, row: int) -> int:
        """How often the line's text was added."""
        return self._times[self._same[row]]

    def by_rarity(self, terms: Iterable[str]) -> list[str]:
        """The terms of a question, the rarest first."""
        return sorted(terms, key=lambda term: (self.index.df(term), term))

    def numbers_of(self, message_ids: Iterable[str | int]) -> set[int]:
        """The places of messages by their ids; an id that is not there has none."""
        return {self._numbers[name] for name in message_ids if name in self._numbers}

    def n_lines_of(self, number: int) -> int:
        return len(self.entries[number].lines)

    def last_talk(self) -> list[str]:
        """The last question and what was answered to it, in order."""
        said: list[str] = []
        for entry in reversed(self.entries):
            if entry.message.role != "tool" and entry.text.strip():
                said.append(entry.text)
            if len(said) == 2 or (said and entry.message.role == "user"):
                break
        return said[::-1]

    def pressure(self, budget_tokens: int) -> float:
        """The share of the history that does not fit, at four bytes of its text a token."""
        return max(0.0, 1.0 - 4 * budget_tokens / max(1, self.n_bytes))

    def cost(self, row: int, *, past: bool = False) -> int:
        """Tokens of a line with its line break, counted once."""
        costs = self._past_costs if past else self._costs
        known = costs.get(row)
        if known is None:
            known = costs[row] = self.count_tokens(self.shown(row, past=past) + "\n")
        return known

    def is_closed(self, row: int) -> bool:
        """Whether a later message says otherwise."""
        return bool(self.closed_by.at(row) >= 0)

    def is_renewed(self, row: int) -> bool:
        """Whether a change brought the line up to date."""
        return row in self._texts

    def pack(
        self,
        question: str,
        budget_tokens: int,
        *,
        now: datetime | None = None,
        policy: Policy = "fill",
        keep_newest: int = 0,
        shown: Collection[str | int] = (),
        first_source: int | None = None,
    ) -> Packed:
        """Choose what a model should see for a question.

        Never more than `budget_tokens`, everything printed counted; the question is not part of it.
        `fill` uses the budget; `lean` stops when nothing relevant is left. `keep_newest` asks for
        that many of the newest messages whole, as far as they fit. `now`, aware, gives "yesterday"
        in a question its date. `shown` are ids of messages that the model sees anyway: none of
        their lines is packed. `first_source` numbers what tools read from there on, in the order
        of print, one number a target (`Packed.sources`). The same history, question and budget
        give the same bytes.
        """
        from memory.engine.packer import Packer  # it reads histories: the one circle

        packer = Packer(
            self,
            question,
            budget_tokens,
            now=now,
            policy=policy,
            keep_newest=keep_newest,
            shown=shown,
            first_source=first_source,
        )
        return packer.pack()


def joins_talk(last: Message | None, message: Message) -> bool:
    """Whether a message goes on with the talk before it. Tool output stands by itself."""
    if last is None or "tool" in (message.role, last.role):
        return False
    return not (message.at and last.at and message.at - last.at > _PAUSE)


def n_bytes_of(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def rows_of(entry: Entry) -> list[Row]:
    """The lines of a tool's output as versions compare them."""
    return [
        Row(entry.first_row + at, _bare_rows(entry.text[line.body : line.end]))
        for at, line in enumerate(entry.lines)
    ]


def _bare_rows(text: str) -> str:
    """A line without the white space round its rows: what versions compare."""
    rows = text.splitlines()
    return rows[0].strip() if len(rows) == 1 else "\n".join(row.strip() for row in rows)


# --- What is encoded -----------------------------------------------------------------------------


def to_encode(entry: Entry, before: Entry | None) -> tuple[list[str], list[str]]:
    """The lines as they are encoded, and before each line of talk what was said before it:
    for the first line the end of the message `before`, where the talk goes on from there."""
    texts = _stripped(entry)
    if entry.message.role == "tool" or not texts:
        return [readable(text) for text in texts], _enclosing(entry, texts)
    said = _as_said(entry)
    last = _as_said(before)[-1:] if before else []
    return said, [text[-_CONTEXT_CHARS:] for text in [*(last or [""]), *said[:-1]]]


def _stripped(entry: Entry) -> list[str]:
    return [entry.line_text(number).strip() for number in range(len(entry.lines))]


def _as_said(entry: Entry) -> list[str]:
    speaker = entry.message.speaker
    return [f"{speaker}: {text}" if speaker else text for text in _stripped(entry)]


def _enclosing(entry: Entry, texts: Sequence[str]) -> list[str]:
    """For each line of output the name of what was read and the two lines that enclose it."""
    name = re.split(r"[/\\]", entry.message.target or "")[-1].split(".")[0]
    contexts = []
    open_lines: list[tuple[int, int]] = []
    for number, line in enumerate(entry.lines):
        while open_lines and open_lines[-1][1] < number:
            open_lines.pop()
        above = [readable(texts[at])[:_ENCLOSING_CHARS] for at, _ in open_lines[-2:]]
        contexts.append(" ".join([name, *above])[: 2 * _ENCLOSING_CHARS])
        if line.n_inside:
            open_lines.append((number, number + line.n_inside))
    return contexts
