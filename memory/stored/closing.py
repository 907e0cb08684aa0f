"""What new messages do to older lines: closed, or brought up to date, on this path alone.

The bookkeeping is the engine's (`versions`, `facts`). It is taken up where the path left it, for
the targets and attributes that come up again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memory.engine.analysis import Analysed, clean_text_of
from memory.engine.calls import Call
from memory.engine.entries import Entry, rows_of
from memory.engine.facts import Fact, Facts, read_statement
from memory.engine.values import Message
from memory.engine.versions import Closing, Versions
from memory.index_models import Part, StoredFact
from memory.stored.chains import Chain, holds, on_path, place_of
from memory.stored.formats import lines_of, short_hash

ReadParts = Callable[[Sequence[str]], list[Message]]


def target_key(call: Call | None) -> str:
    return short_hash(call.target) if call else ""


def closings_on(part: Part, chain: Chain) -> Closing:
    """What was done to the lines of a part on a path, by their numbers in it."""
    closing = Closing()
    for group in part.closings or ():
        if holds(chain, *group["by"]):
            closing.closed += group["closed"]
            closing.texts |= {int(line): text for line, text in group["texts"].items()}
    return closing


class Closer:
    """For a stretch of new messages behind the path `chain`."""

    def __init__(self, chain: Chain, read_parts: ReadParts) -> None:
        self._chain = chain
        self._read_parts = read_parts
        self._parts: list[Part] = []
        self._known: set[int] = set()
        self._touched: dict[int, Part] = {}
        self._versions = Versions()
        self._facts = Facts()
        self._stated: list[StoredFact] = []

    # --- Taking up what is known -----------------------------------------------------------------

    def prepare(self, messages: Iterable[Analysed]) -> None:
        """Read what these messages may touch."""
        messages = list(messages)
        targets = {target_key(one.call) for one in messages if one.call}
        known = self._on_path(Part.objects.filter(target_key__in=targets)) if targets else []
        stated = self._known_facts(messages)
        self._resume_facts(stated)
        parts = {part.pk: part for part in [*known, *self._parts_of(stated)]}
        self._known = set(parts)
        self._parts = sorted(parts.values(), key=lambda part: part.first_row)
        self._resume_versions(sorted(known, key=lambda part: part.first_row))

    def _on_path(self, rows: Iterable[Part]) -> list[Part]:
        return on_path(rows.filter(block_id__in=self._chain), self._chain)  # type: ignore[attr-defined]

    def _known_facts(self, messages: Iterable[Analysed]) -> list[StoredFact]:
        """The newest fact of every subject and attribute that the messages speak of."""
        attributes = {
            told[0]
            for one in messages
            if one.message.role == "user"
            for number in range(len(one.lines))
            if (told := read_statement(one.line_text(number)))
        }
        if not attributes:
            return []
        rows = StoredFact.objects.filter(block_id__in=self._chain, attribute__in=attributes)
        newest = {
            (row.subject, row.attribute): row
            for row in sorted(on_path(rows, self._chain), key=lambda row: row.row)
        }
        return list(newest.values())

    def _parts_of(self, stated: Sequence[StoredFact]) -> list[Part]:
        places = {place_of(row.block_id, row.position) for row in stated}
        return list(Part.objects.filter(place__in=places)) if places else []

    def _resume_facts(self, stated: Sequence[StoredFact]) -> None:
        self._facts = Facts(
            Fact(row.subject, row.attribute, row.value, row.row, number, valid_from=row.said_at)
            for number, row in enumerate(stated)
        )

    def _resume_versions(self, parts: Sequence[Part]) -> None:
        """Parts all of whose lines are closed have no say any more."""
        closings = {part.key: closings_on(part, self._chain) for part in parts}
        open_parts = [p for p in parts if len(set(closings[p.key].closed)) < p.n_lines]
        texts = {str(m.id): m for m in self._read_parts([p.key for p in open_parts])}
        for part in open_parts:
            message = texts[part.key]
            text, call = clean_text_of(message)
            if call is None:
                continue
            entry = Entry(message, text, lines_of(bytes(part.spans)), part.first_row, call)
            done = closings[part.key]
            moved = Closing(
                [part.first_row + line for line in done.closed],
                {part.first_row + line: text for line, text in done.texts.items()},
            )
            self._versions.resume(call, rows_of(entry), moved, ok=message.ok)

    # --- One new message -------------------------------------------------------------------------

    def take(self, part: Part, analysed: Analysed) -> None:
        self._parts.append(part)
        if analysed.call:
            part.target_key = target_key(analysed.call)
            self._take_call(part, analysed, analysed.call)
        elif analysed.message.role == "user":
            self._take_facts(part, analysed)

    def _take_call(self, part: Part, analysed: Analysed, call: Call) -> None:
        entry = Entry(analysed.message, analysed.text, analysed.lines, part.first_row, call)
        rows = rows_of(entry)
        if call.kind == "change" and call.old is not None:
            self._close(part, [row.row for row in rows if row.text.startswith("- ")], {})
        closing = self._versions.note(call, rows, ok=analysed.message.ok)
        self._close(part, closing.closed, closing.texts)

    def _take_facts(self, part: Part, analysed: Analysed) -> None:
        message = analysed.message
        subject = message.speaker or message.role
        for number in range(len(analysed.lines)):
            text, row = analysed.line_text(number), part.first_row + number
            told = read_statement(text)
            if told is None:
                continue
            fact = StoredFact(block_id=part.block_id, position=part.position, row=row)
            fact.subject, (fact.attribute, fact.value), fact.said_at = subject, told, message.at
            self._stated.append(fact)
            closed = self._facts.note(subject, text, row, message.at)
            if closed is not None:
                self._close(part, [closed], {})

    def _close(self, by: Part, closed: Sequence[int], texts: Mapping[int, str]) -> None:
        """Write to every part what happened to its lines."""
        groups: dict[int, dict[str, Any]] = {}
        for row in closed:
            part = self._part_of(row)
            self._group(groups, by, part)["closed"].append(row - part.first_row)
        for row, text in texts.items():
            part = self._part_of(row)
            self._group(groups, by, part)["texts"][str(row - part.first_row)] = text

    def _group(self, groups: dict[int, dict[str, Any]], by: Part, part: Part) -> dict[str, Any]:
        if part.first_row not in groups:
            group = {"by": [by.block_id, by.position], "closed": [], "texts": {}}
            groups[part.first_row] = group
            part.closings = [*(part.closings or ()), group]
            self._touched[part.first_row] = part
        return groups[part.first_row]

    def _part_of(self, row: int) -> Part:
        at = bisect_right(self._parts, row, key=lambda part: part.first_row) - 1
        return self._parts[at]

    def flush(self) -> None:
        """After the new parts are written."""
        old = [part for part in self._touched.values() if part.pk in self._known]
        Part.objects.bulk_update(old, ["closings"], batch_size=100)
        StoredFact.objects.bulk_create(self._stated, batch_size=500)
