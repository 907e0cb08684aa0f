"""Ending a run: text, citations and status in one transaction, exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.accounts import usage
from chat.agent import values
from chat.agent.events import AgentEvent
from chat.citing import FoundCitation
from chat.models import Citation, Conversation, Message, Run
from chat.rendering import strip_markers
from chat.statuses import RunStatus
from chat.store.events import RunLost, append_events
from memory.service import clean_text, remember_later


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended and what is kept of it."""

    status: str
    reason: str = ""
    text: str = ""
    usage: values.Usage = field(default_factory=values.Usage)
    n_steps: int = 0
    n_stray_markers: int = 0
    followups: Sequence[str] = ()
    receipt: Mapping[str, Any] = field(default_factory=dict)
    model_name: str = ""
    citations: Sequence[FoundCitation] = ()
    fail_count: int = 0
    last_error: str = ""


def end_run(
    run_id: int, last_seq: int, events: Sequence[AgentEvent], ending: Ending
) -> list[dict[str, Any]]:
    """The last events, the answer's text, its citations and the status: all or nothing."""
    with transaction.atomic():
        told = append_events(run_id, last_seq, events)
        run = Run.objects.select_related("answer").get(pk=run_id)
        _close(run, ending)
        cite(run, ending.citations)
        remember_later(run.answer_id)
    return told


def _close(run: Run, ending: Ending) -> None:
    now = timezone.now()
    text = clean_text(ending.text)
    Message.objects.filter(pk=run.answer_id).update(text=text, model_text=strip_markers(text))
    moved = Run.objects.filter(pk=run.pk, status=RunStatus.RUNNING).update(
        status=ending.status,
        reason=ending.reason,
        prompt_tokens=ending.usage.prompt_tokens,
        completion_tokens=ending.usage.completion_tokens,
        n_steps=ending.n_steps,
        n_stray_markers=ending.n_stray_markers,
        followups=list(ending.followups),
        receipt=dict(ending.receipt),
        fail_count=ending.fail_count,
        last_error=ending.last_error,
        model_name=ending.model_name[:200],
        address="",
        finished_at=now,
    )
    if moved != 1:
        raise RunLost
    usage.add(run.owner_id, tokens=ending.usage.prompt_tokens + ending.usage.completion_tokens)
    Conversation.objects.filter(pk=run.conversation_id).update(updated_at=now)


def cite(run: Run, found: Iterable[FoundCitation]) -> None:
    sources = {row.number: row for row in run.sources.prefetch_related("passages")}
    rows = []
    for one in found:
        source = sources[one.number]
        passages = list(source.passages.all())
        rows.append(
            Citation(
                answer_id=run.answer_id,
                source=source,
                passage=passages[one.passage] if one.passage is not None else None,
                start=one.span.start,
                end=one.span.end,
                problem=one.problem,
            )
        )
    Citation.objects.bulk_create(rows)
