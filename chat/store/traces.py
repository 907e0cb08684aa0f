"""What other turns keep of a message or a source, taken out when that one is deleted."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from chat.models import Message, Passage, RecalledSpan, Run, RunEvent, Source

_NAMED_MESSAGE = ("message", "window_from")


# --- Sources that were recalled -----------------------------------------------------------------


_copies_go_along: ContextVar[bool] = ContextVar("copies_go_along", default=False)


@contextmanager
def copies_go_along() -> Iterator[None]:
    """A whole conversation is deleted within: no copy is left in it to be looked through."""
    token = _copies_go_along.set(True)
    try:
        yield
    finally:
        _copies_go_along.reset(token)


def forget_copies(origin_id: int) -> None:
    """Takes out of later sources what was recalled of one that is about to go."""
    if _copies_go_along.get():
        return
    rows = RecalledSpan.objects.filter(origin_id=origin_id).select_related("source")
    for source, spans in _by_source(rows).items():
        _blank(source, spans)


def _by_source(rows: Collection[RecalledSpan]) -> Mapping[Source, list[RecalledSpan]]:
    found: dict[Source, list[RecalledSpan]] = defaultdict(list)
    for row in rows:
        found[row.source].append(row)
    return found


def _blank(source: Source, spans: Sequence[RecalledSpan]) -> None:
    """Puts spaces in the place of the spans, so that what else was read keeps its place; a source
    of which nothing is left goes, with its card."""
    text = source.snapshot
    gone = Q()
    for span in spans:
        text = text[: span.start] + " " * (span.end - span.start) + text[span.end :]
        gone |= Q(start__lt=span.end, end__gt=span.start)
    if not text.strip():
        _empty_card(source)
        source.delete()
        return
    Passage.objects.filter(gone, source=source).delete()
    RecalledSpan.objects.filter(pk__in=[span.pk for span in spans]).delete()
    source.snapshot, source.snapshot_hash = text, hashlib.sha256(text.encode()).hexdigest()
    source.save(update_fields=["snapshot", "snapshot_hash"])
    _blank_copies(source)


def _blank_copies(source: Source) -> None:
    """What was recalled of a source goes from there too, unless the source still says it."""
    rows = RecalledSpan.objects.filter(origin=source).select_related("source")
    for copy, spans in _by_source(rows).items():
        lost = [one for one in spans if not _is_said(one.text, source.snapshot)]
        if lost:
            _blank(copy, lost)


def _is_said(passage: str, text: str) -> bool:
    return all(line in text for line in passage.split("\n"))


def _empty_card(source: Source) -> None:
    """The event keeps its place among the others, and the number; nothing else."""
    events = RunEvent.objects.filter(run_id=source.run_id, type="source_found")
    events.filter(data__number=source.number).update(
        data={"number": source.number, "title": "", "url": "", "domain": ""}
    )


# --- What runs keep of others -------------------------------------------------------------------


def forget_suggestion(question: Message) -> None:
    """The answer before may have suggested the question word for word."""
    for run in Run.objects.filter(answer_id=question.parent_id):
        if question.text not in run.followups:
            continue
        run.followups = _without_text(run.followups, question.text)
        run.save(update_fields=["followups"])
        for event in run.events.filter(type="followups_suggested"):
            questions = _without_text(event.data.get("questions", []), question.text)
            event.data = {**event.data, "questions": questions}
            event.save(update_fields=["data"])


def _without_text(texts: Sequence[str], gone: str) -> list[str]:
    return [text for text in texts if text != gone]


def forget_in_receipts(
    conversation_id: int, messages: Collection[int], sources: Collection[int]
) -> None:
    """Takes messages and sources that go out of the receipts of the turns that saw them."""
    refs = {f"m{pk}" for pk in messages} | {f"s{pk}" for pk in sources}
    naming = Q()
    for ref in refs:
        naming |= Q(receipt_text__contains=f'"{ref}"')
    for pk in messages:
        for key in _NAMED_MESSAGE:
            naming |= Q(receipt_text__contains=f'"{key}": {pk}')
    runs = Run.objects.filter(conversation_id=conversation_id).only("receipt")
    for run in runs.annotate(receipt_text=Cast("receipt", TextField())).filter(naming):
        run.receipt = _without(run.receipt, set(messages), refs)
        run.save(update_fields=["receipt"])


def _without(value: Any, messages: Collection[int], refs: Collection[str]) -> Any:
    if isinstance(value, dict):
        kept = {key: _without(inner, messages, refs) for key, inner in value.items()}
        return kept | ({"window_from": None} if kept.get("window_from") in messages else {})
    if isinstance(value, list):
        return [_without(one, messages, refs) for one in value if not _names(one, messages, refs)]
    return value


def _names(value: Any, messages: Collection[int], refs: Collection[str]) -> bool:
    if isinstance(value, dict):
        return value.get("message") in messages or value.get("ref") in refs
    return isinstance(value, str) and value in refs
