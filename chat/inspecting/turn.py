"""The page of one turn: its receipt as a person reads it, in the order of the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils.timezone import get_default_timezone_name

from chat import store
from chat.agent.prompts import situation
from chat.agent.sources import canonical_url
from chat.agent.values import History
from chat.agent.window import note_cost, omitted
from chat.clock import known_zone
from chat.inspecting.reading import Stored, older_pieces, refs_in, window_pieces
from chat.inspecting.values import (
    Gathered,
    Meter,
    Pack,
    Piece,
    SeenFile,
    SeenSummary,
    SeenText,
    SeenTurn,
    Slice,
)
from chat.models import Passage, Run, RunEvent, Source
from chat.session import session_text
from chat.steps import steps_of
from chat.wiring import system_now
from memory.service import KeptSummary, count_tokens, file_paths, summaries_of

Receipt = Mapping[str, Any]
_TOOL_EVENTS = ("tool_started", "tool_finished", "limit_reached")


def seen_turn(run: Run, *, with_content: bool = True) -> SeenTurn:
    """What the model saw of a run that has packed. Without content the texts are left out."""
    receipt = run.receipt
    stored = Stored(run.conversation, refs_in(receipt), numbers_of(run))
    turn = SeenTurn(
        system=told(system_now(receipt["budget_tokens"])),
        files=_files(run),
        session=_session(run),
        summaries=_summaries(run, stored),
        pack=pack_of(receipt, stored),
        situation=told(_situation(run)),
        question=told(run.question.text),
        continued=_continued(run),
        gathered=_gathered(run),
    )
    return turn if with_content else without_content(turn)


def moment_of(run: Run) -> datetime:
    """When the run began, in the zone of whoever asked."""
    zone = known_zone(run.time_zone, run.owner.time_zone, get_default_timezone_name())
    return run.started_at.astimezone(ZoneInfo(zone))


def numbers_of(run: Run) -> dict[str, int]:
    """The numbers under which this turn offers sources of earlier turns again."""
    rows = Source.objects.filter(run=run, recalled=True).values_list("url", "number")
    return {canonical_url(url): number for url, number in rows}


def told(text: str) -> SeenText:
    return SeenText(text, count_tokens(text))


# --- The conversation -----------------------------------------------------------------------------


def pack_of(receipt: Receipt, stored: Stored) -> Pack:
    n_omitted = receipt["total"] - receipt["visible"]
    return Pack(
        receipt=receipt,
        note=omitted(n_omitted) if n_omitted and receipt["window"] else "",
        window=window_pieces(receipt, stored),
        older=older_pieces(receipt, stored),
        left_out=list(receipt.get("left_out", {}).items()),
        meter=meter_of(receipt),
    )


def meter_of(receipt: Receipt) -> Meter:
    n_omitted = receipt["total"] - receipt["visible"]
    window = sum(row["tokens"] for row in receipt["window"])
    window += note_cost(receipt["total"], count_tokens) if n_omitted else 0
    parts = [
        ("window", "newest messages, whole", window),
        ("older", "older lines", receipt["earlier_tokens"]),
    ]
    if summaries := receipt.get("summaries"):
        parts.insert(1, ("summaries", "summaries", sum(row["tokens"] for row in summaries)))
    budget = receipt["budget_tokens"]
    free = max(0, budget - sum(tokens for *_, tokens in parts))
    slices, start = [], 0.0
    for name, label, tokens in [*parts, ("free", "free", free)]:
        width = 100.0 * tokens / max(budget, 1)
        slices.append(Slice(name, label, tokens, round(start, 3), round(width, 3)))
        start += width
    return Meter(budget, slices)


# --- Beside the conversation ----------------------------------------------------------------------


def _files(run: Run) -> list[SeenFile]:
    rows = run.receipt.get("files", ())
    known = file_paths(run.owner_id, [row["file"] for row in rows]) if rows else {}
    return [_file(row, known.get(row["file"]), run) for row in rows]


def _file(row: Receipt, known: tuple[str, datetime] | None, run: Run) -> SeenFile:
    path, changed_at = known or ("", run.started_at)
    return SeenFile(
        path=path,
        href=reverse("memory-file", args=[row["file"]]) if known else "",
        n_tokens=row["tokens"],
        n_left_out=row["left_out"],
        is_skill=row["skill"],
        changed_since=changed_at > run.started_at,
    )


def _session(run: Run) -> SeenText | None:
    """The facts chosen for the conversation, as they are chosen now."""
    n_tokens = run.receipt.get("session_tokens")
    return SeenText(session_text(run.conversation), n_tokens) if n_tokens else None


def _summaries(run: Run, stored: Stored) -> list[SeenSummary]:
    rows = run.receipt.get("summaries", ())
    kept = summaries_of(run.owner_id, run.conversation_id) if rows else ()
    known = {one.summary_id: one for one in kept}
    zone = moment_of(run).tzinfo
    return [_summary(row, known.get(row["summary"]), stored, zone) for row in rows]


def _summary(
    row: Receipt, kept: KeptSummary | None, stored: Stored, zone: tzinfo | None
) -> SeenSummary:
    if kept is None:
        return SeenSummary("", row["tokens"])
    ends = [at.astimezone(zone) for at in (kept.first_at, kept.last_at) if at]
    days = " to ".join(dict.fromkeys(f"{at:%Y-%m-%d}" for at in ends))
    span = f"{kept.n_messages} messages{f' of {days}' if days else ''}"
    return SeenSummary(kept.text, row["tokens"], span, stored.places.href(kept.first_id))


def _situation(run: Run) -> str:
    receipt = run.receipt
    history = History(n_visible=receipt["visible"], n_total=receipt["total"])
    return situation(history, moment_of(run))


def _continued(run: Run) -> SeenText | None:
    if not run.continues:
        return None
    return told(store.cut_answer(run)[0])


def _gathered(run: Run) -> Gathered:
    rows = RunEvent.objects.filter(run=run, type__in=_TOOL_EVENTS).order_by("seq")
    steps = [step for step in steps_of(map(store.as_event, rows), over=True).items if step.tool]
    if not steps:
        return Gathered()
    snapshots = dict(Source.objects.filter(run=run, recalled=False).values_list("pk", "snapshot"))
    passages = Passage.objects.filter(source__in=list(snapshots))
    spans = passages.values_list("source_id", "start", "end")
    texts = [snapshots[source][start:end] for source, start, end in spans]
    return Gathered(
        steps=steps,
        n_results=sum(step.n_results for step in steps),
        n_sources=len(snapshots),
        n_tokens=sum(map(count_tokens, texts)),
    )


# --- For whoever may not read it ------------------------------------------------------------------


def without_content(turn: SeenTurn) -> SeenTurn:
    """The structure, counts, tokens and reasons of a turn, and no word of it."""
    return replace(
        turn,
        files=[replace(file, path="", href="") for file in turn.files],
        session=replace(turn.session, text="") if turn.session else None,
        summaries=[replace(one, text="", href="") for one in turn.summaries],
        pack=pack_without_content(turn.pack),
        question=replace(turn.question, text=""),
        continued=replace(turn.continued, text="") if turn.continued else None,
        gathered=replace(turn.gathered, steps=()),
        with_content=False,
    )


def pack_without_content(pack: Pack) -> Pack:
    return replace(
        pack,
        receipt={**pack.receipt, "terms": [], "lines": []},
        window=[_bare(piece) for piece in pack.window],
        older=[_bare(piece) for piece in pack.older],
    )


def _bare(piece: Piece) -> Piece:
    lines = tuple(line.without_text() for line in piece.lines)
    return replace(piece, title="", href="", lines=lines)
