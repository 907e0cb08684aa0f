"""What is counted along a path. A message's own totals are fixed by what stands before it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from memory.engine.analysis import Analysed
from memory.engine.entries import joins_talk, n_bytes_of
from memory.engine.layout import LengthSums, enclosing_lengths
from memory.engine.values import Message


@dataclass(slots=True)
class Totals:
    """`topics` holds for each topic of the ledger, in the order of their first event, how many
    events there were and of how many names. `role` and `at` are those of the last part."""

    n_parts: int = 0
    n_rows: int = 0
    n_bytes: int = 0
    sums: LengthSums = field(default_factory=LengthSums)
    speakers: list[str] = field(default_factory=list)
    topics: dict[str, list[int]] = field(default_factory=dict)
    role: str = ""
    at: datetime | None = None

    @property
    def n_lines(self) -> int:
        return self.n_rows - self.n_parts

    def as_json(self) -> dict[str, Any]:
        # Topics as a list: a database may put the keys of an object in an order of its own.
        at = self.at.isoformat() if self.at else None
        return asdict(self) | {"at": at, "topics": [[k, *v] for k, v in self.topics.items()]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Totals:
        at = datetime.fromisoformat(stored["at"]) if stored["at"] else None
        topics = {topic: [n, n_names] for topic, n, n_names in stored["topics"]}
        sums = LengthSums(**stored["sums"])
        return cls(**(stored | {"sums": sums, "topics": topics, "at": at}))

    def joins(self, message: Message) -> bool:
        """Whether a message goes on with the talk that the path ends with."""
        last = Message("", self.role, "", self.at) if self.role else None  # type: ignore[arg-type]
        return joins_talk(last, message)

    def speaker(self, name: str | None) -> int:
        if not name:
            return -1
        if name not in self.speakers:
            self.speakers.append(name)
        return self.speakers.index(name)

    def take(self, analysed: Analysed, *, joins: bool) -> None:
        lengths = [len(terms) for terms in analysed.terms]
        enclosing = enclosing_lengths(lengths, [line.n_inside for line in analysed.lines])
        self.sums.add(lengths, len(analysed.heading), enclosing, joins=joins)
        self.n_parts += 1
        self.n_rows += 1 + len(lengths)
        self.n_bytes += n_bytes_of(analysed.text)
        self.role, self.at = analysed.message.role, analysed.message.at
