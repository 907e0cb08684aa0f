"""Receipts to pieces: what a receipt names is read from the store, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from django.urls import reverse

from chat.agent.sources import LIBRARY_DOMAIN, canonical_url
from chat.inspecting.values import Kind, Piece, SeenLine
from chat.memory_reader import READ, SAID, StoredMessages
from chat.models import Conversation, Message, Source
from chat.tree import Tree
from chat.turns import TURNS_A_PAGE
from memory.service import HistoryMessage, written_lines

Row = Mapping[str, Any]
DELETED = "This has been deleted since, so its text is not shown."


class Places:
    """Where on the pages a message of the conversation stands: nowhere, if only in a version that
    is not shown. Of older turns the address asks for the page that ends with it."""

    def __init__(self, conversation: Conversation) -> None:
        self._address = reverse("conversation", args=[conversation.pk])
        tree = Tree(conversation.pk)
        self.refs = {f"{SAID}{pk}" for pk in tree.nodes}
        self._path = tree.path(conversation.head_id)
        self._questions = [pk for pk in self._path if tree.nodes[pk].role == Message.Role.USER]
        self._question_of = {}
        question = 0
        for pk in self._path:
            question = pk if tree.nodes[pk].role == Message.Role.USER else question
            self._question_of[pk] = question

    def href(self, message_id: int) -> str:
        question = self._question_of.get(message_id)
        if not question:
            return ""
        at = self._questions.index(question)
        is_newest = len(self._questions) - at <= TURNS_A_PAGE
        before = "" if is_newest else f"?before={self._questions[at + 1]}"
        return f"{self._address}{before}#turn-{question}"


class Stored:
    """The messages and sources of one conversation that receipts name, by "m12" and "s34"."""

    def __init__(
        self, conversation: Conversation, refs: Iterable[str], numbers: Mapping[str, int]
    ) -> None:
        """`numbers` are those of this turn's recalled sources, by canonical URL."""
        named = set(refs)
        self.places = Places(conversation)
        self._numbers = numbers
        read = [int(ref[1:]) for ref in named if ref.startswith(READ)]
        rows = Source.objects.filter(run__conversation=conversation).defer("snapshot")
        self._sources = {f"{READ}{pk}": row for pk, row in rows.in_bulk(read).items()}
        own = named & (self._sources.keys() | self.places.refs)
        self._parts = {str(part.id): part for part in StoredMessages().read_parts(own)}

    def whole(self, ref: str, n_tokens: int) -> Piece:
        """A message as the window shows it."""
        part = self._parts.get(ref)
        lines = (SeenLine(text=part.text, n_tokens=n_tokens),) if part else ()
        return self._piece(ref, lines, n_tokens, whole=True)

    def lines(self, ref: str, rows: Sequence[Row]) -> Piece:
        """The packed lines of one message or source."""
        part = self._parts.get(ref)
        spans = [(int(row["start"]), int(row["end"])) for row in rows]
        texts = written_lines(part, spans) if part else [""] * len(rows)
        lines = tuple(_line(row, text) for row, text in zip(rows, texts, strict=True))
        return self._piece(ref, lines, sum(line.n_tokens for line in lines))

    def _piece(
        self, ref: str, lines: Sequence[SeenLine], n_tokens: int, *, whole: bool = False
    ) -> Piece:
        part, source = self._parts.get(ref), self._sources.get(ref)
        if part is None:
            return Piece(ref=ref, kind="gone", n_tokens=n_tokens, lines=lines, whole=whole)
        return Piece(
            ref=ref,
            kind=_kind(part, source),
            n_tokens=n_tokens,
            title=source.title if source else "",
            at=part.at,
            href=self._href(ref, source),
            number=self._numbers.get(canonical_url(source.url)) if source else None,
            whole=whole,
            lines=lines,
        )

    def _href(self, ref: str, source: Source | None) -> str:
        if source is None:
            return self.places.href(int(ref[1:]))
        return reverse("source", args=[source.run_id, source.number])


def listed(row: Row) -> Piece:
    """A counted list, of which a receipt keeps the title alone."""
    title = str(row["list"])
    line = SeenLine(
        key=(title, 0, 0), text=title, n_tokens=int(row["tokens"]), reason="counted list"
    )
    return Piece(ref="", kind="list", n_tokens=line.n_tokens, lines=(line,))


def refs_in(receipt: Row) -> set[str]:
    """All that a receipt names."""
    return {f"m{row['message']}" for row in receipt.get("window", ())} | {
        row["ref"] for row in receipt.get("lines", ()) if "ref" in row
    }


def window_pieces(receipt: Row, stored: Stored) -> list[Piece]:
    return [stored.whole(f"m{row['message']}", row["tokens"]) for row in receipt.get("window", ())]


def older_pieces(receipt: Row, stored: Stored) -> list[Piece]:
    """The older lines by message or source, as they are quoted: counted lists, what was said, then
    what was read, each in the order of the conversation."""
    pieces = []
    for ref, group in groupby(receipt.get("lines", ()), key=lambda row: str(row.get("ref", ""))):
        rows = list(group)
        pieces += [stored.lines(ref, rows)] if ref else [listed(row) for row in rows]
    return sorted(pieces, key=lambda piece: ("", SAID, READ).index(piece.ref[:1]))


def _line(row: Row, text: str) -> SeenLine:
    return SeenLine(
        key=(str(row["ref"]), int(row["start"]), int(row["end"])),
        text=text,
        n_tokens=int(row["tokens"]),
        reason=str(row["reason"]),
        score=float(row["score"]),
        parts=tuple(row["parts"].items()),
    )


def _kind(part: HistoryMessage, source: Source | None) -> Kind:
    if source is not None:
        return "document" if source.domain == LIBRARY_DOMAIN else "page"
    return "user" if part.role == "user" else "assistant"
