"""A history and what is known of it: the work is done once, when a message is added."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import numpy as np

from memory.engine.analysis import Analysed, analyse, show_written
from memory.engine.calls import Call
from memory.engine.columns import Column
from memory.engine.dates import Dated
from memory.engine.entries import Entry, joins_talk, n_bytes_of, rows_of, to_encode
from memory.engine.errors import EmbedderFailed
from memory.engine.facts import Facts
from memory.engine.fetching import AtHand
from memory.engine.frames import GONE, heading
from memory.engine.index import LineIndex
from memory.engine.layout import Layout
from memory.engine.ledger import Ledger
from memory.engine.plan import Plan
from memory.engine.ports import Embedder
from memory.engine.terms import terms_of
from memory.engine.tokens import CountTokens, estimate_tokens
from memory.engine.values import Message, Packed, Policy
from memory.engine.vectors import Vectors
from memory.engine.versions import Versions


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
        self._heading_costs: dict[int, int] = {}
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
        texts, contexts = to_encode(entry, self.entries[-2] if joins else None)
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

    def heading_cost(self, number: int) -> int:
        """Tokens of a message's heading with its line break, counted once."""
        known = self._heading_costs.get(number)
        if known is None:
            text = heading(self.entries[number].message)
            known = self._heading_costs[number] = self.count_tokens(text + "\n")
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
