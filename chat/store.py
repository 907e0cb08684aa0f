"""Rows to values and back. Owns the transactions: short, and each with one purpose.

Synchronous, as Django 5.2 has no asynchronous transactions; callers wrap it.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from chat import tree
from chat.agent import values
from chat.agent.events import AgentEvent, SourceFound, event_data
from chat.agent.values import Span
from chat.citing import FoundCitation, citations_of
from chat.models import Citation, Conversation, Message, Passage, Run, RunEvent, Source, User
from chat.rendering import strip_markers
from chat.statuses import RunStatus
from memory.service import clean_text

STALE_AFTER = timedelta(seconds=8)
PROCESS = f"{socket.gethostname()}:{os.getpid()}"
INTERRUPTED = "The server stopped before the answer was finished. Try again."


class Refused(Exception):
    """An ask that cannot be taken. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RunLost(Exception):
    """The run is no longer this process's: it was ended by someone else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a person wants: a question in a conversation (None begins one), or one of the kinds
    that start from an existing message. Exactly one of `edits`, `regenerates`, `continues` may
    be set: the id of the question to replace, of the answer to make anew, or to go on with."""

    client_id: str
    text: str = ""
    conversation: int | None = None
    edits: int | None = None
    regenerates: int | None = None
    continues: int | None = None
    time_zone: str = ""


# --- Beginning a run ----------------------------------------------------------------------------


def begin_run(owner: User, ask: Ask) -> tuple[Run, bool]:
    """Saves the question and an empty answer marked running. The same client id is the same ask.

    Returns the run and whether it is new. Raises Refused.
    """
    known = Run.objects.of(owner).filter(client_id=ask.client_id).first()
    if known:
        return known, False
    try:
        with transaction.atomic():
            return _begin(owner, ask), True
    except IntegrityError:
        known = Run.objects.of(owner).filter(client_id=ask.client_id).first()
        if known:
            return known, False
        raise Refused(
            "busy", "An answer is still being written in this conversation. Stop it first."
        ) from None


def _begin(owner: User, ask: Ask) -> Run:
    now = timezone.now()
    conversation, parent, question = _place(owner, ask)
    sweep_conversation(conversation.pk)
    if conversation.runs.filter(status=RunStatus.RUNNING).exists():
        raise Refused(
            "busy", "An answer is still being written in this conversation. Stop it first."
        )
    if question is None:
        text = clean_text(ask.text, author="user")
        question = Message.objects.create(
            conversation=conversation,
            parent=parent,
            role=Message.Role.USER,
            text=text,
            model_text=text,
            created_at=now,
        )
    answer = Message.objects.create(
        conversation=conversation,
        parent=question,
        role=Message.Role.ASSISTANT,
        created_at=now + timedelta(microseconds=1),
    )
    run = Run.objects.create(
        owner=owner,
        conversation=conversation,
        question=question,
        answer=answer,
        client_id=ask.client_id,
        continues=ask.continues is not None,
        time_zone=ask.time_zone,
        process=PROCESS,
        started_at=now,
        heartbeat_at=now,
    )
    Conversation.objects.filter(pk=conversation.pk).update(
        head=answer, updated_at=now, title=conversation.title or tree.title_of(question.text)
    )
    return run


def _place(owner: User, ask: Ask) -> tuple[Conversation, Message | None, Message | None]:
    """The conversation, the parent of a new question, and the question when it exists."""
    if ask.regenerates or ask.continues:
        answer = _own_message(owner, ask.regenerates or ask.continues, Message.Role.ASSISTANT)
        if ask.continues and not answer.text.strip():
            raise Refused("nothing", "There is nothing to continue. Ask for a new answer instead.")
        return answer.conversation, None, answer.parent
    if ask.edits:
        edited = _own_message(owner, ask.edits, Message.Role.USER)
        return edited.conversation, edited.parent, None
    if ask.conversation is None:
        return Conversation.objects.create(owner=owner), None, None
    conversation = own_conversation(owner, ask.conversation)
    return conversation, conversation.head, None


def own_conversation(owner: User, pk: int) -> Conversation:
    """Raises Refused("unknown") alike for a conversation that is not there or not theirs."""
    found = Conversation.objects.of(owner).filter(pk=pk).select_related("head").first()
    if found is None:
        raise Refused("unknown", "There is no such conversation.")
    return found


def _own_message(owner: User, pk: int | None, role: str) -> Message:
    found = (
        Message.objects.of(owner)
        .filter(pk=pk, role=role)
        .select_related("conversation", "parent")
        .first()
    )
    if found is None:
        raise Refused("unknown", "There is no such message.")
    return found


def own_run(owner: User, conversation_id: int, run_id: int) -> Run | None:
    return Run.objects.of(owner).filter(conversation_id=conversation_id, pk=run_id).first()


def runs_after(owner: User, conversation_id: int, run_id: int) -> list[Run]:
    """The runs of a conversation that began after a given one."""
    runs = Run.objects.of(owner).filter(conversation_id=conversation_id, pk__gt=run_id)
    return list(runs.select_related("question", "answer"))


def run_with_parts(run_id: int) -> Run:
    return Run.objects.select_related("owner", "conversation", "question", "answer").get(pk=run_id)


def cut_answer(run: Run) -> tuple[str, Sequence[values.Source]]:
    """The text and the sources that a continuation goes on from."""
    before = (
        Run.objects.filter(question=run.question, pk__lt=run.pk)
        .exclude(answer__text="")
        .select_related("answer")
        .last()
    )
    if before is None:
        return "", ()
    return before.answer.text, sources_of(before)


# --- History ------------------------------------------------------------------------------------


def clean_history(run: Run, newest: int) -> tuple[list[values.Message], int]:
    """The newest clean messages before the run's question on its path, oldest first, and how
    many there are in all. Empty ones do not count: nothing was said."""
    path = tree.path_ids(run.conversation_id, run.question.parent_id)
    rows = dict(
        Message.objects.filter(conversation_id=run.conversation_id, pk__in=path)
        .exclude(model_text="")
        .values_list("pk", "role")
    )
    spoken = [pk for pk in path if pk in rows]
    wanted = spoken[-newest:] if newest else []
    texts = dict(Message.objects.filter(pk__in=wanted).values_list("pk", "model_text"))
    messages = [values.Message(role=_role(rows[pk]), text=texts[pk]) for pk in wanted]
    return messages, len(spoken)


def _role(role: str) -> values.Role:
    return "user" if role == Message.Role.USER else "assistant"


# --- While a run goes on ------------------------------------------------------------------------


def append_events(run_id: int, last_seq: int, events: Sequence[AgentEvent]) -> list[dict[str, Any]]:
    """Stores the events after `last_seq`; returns them as every reader gets them.

    Raises RunLost when the run was ended by someone else or its events are not where we left them.
    """
    rows = [
        RunEvent(run_id=run_id, seq=last_seq + index, type=event.type, data=event_data(event))
        for index, event in enumerate(events, start=1)
    ]
    with transaction.atomic():
        _advance(run_id, last_seq, len(rows))
        keep_sources(run_id, [one.source for one in events if isinstance(one, SourceFound)])
        RunEvent.objects.bulk_create(rows)
    return [as_event(row) for row in rows]


def _advance(run_id: int, last_seq: int, count: int) -> None:
    moved = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING, last_seq=last_seq).update(
        last_seq=last_seq + count, heartbeat_at=timezone.now()
    )
    if moved != 1:
        raise RunLost


def as_event(row: RunEvent) -> dict[str, Any]:
    """The one form of an event, in the store, on the socket and in the API."""
    return {"run": row.run_id, "seq": row.seq, "type": row.type, **row.data}


def read_events(run_id: int, after: int = 0) -> list[dict[str, Any]]:
    return [as_event(row) for row in RunEvent.objects.filter(run_id=run_id, seq__gt=after)]


def beat(run_id: int) -> bool:
    """Shows that the run is alive; says whether it has to stop."""
    Run.objects.filter(pk=run_id, status=RunStatus.RUNNING).update(heartbeat_at=timezone.now())
    return stop_requested(run_id)


def stop_requested(run_id: int) -> bool:
    """Whether the person asked to stop, or the run is no longer there to go on."""
    going = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING, stop_requested=False)
    return not going.exists()


def request_stop(owner: User, run_id: int) -> bool:
    """Marks the run to stop. False when there is no such run of this owner still running."""
    running = Run.objects.of(owner).filter(pk=run_id, status=RunStatus.RUNNING)
    return running.update(stop_requested=True) == 1


def keep_sources(run_id: int, sources: Iterable[values.Source]) -> None:
    for source in sources:
        _keep_source(run_id, source)


def _keep_source(run_id: int, source: values.Source) -> None:
    row, _ = Source.objects.update_or_create(
        run_id=run_id,
        number=source.number,
        defaults={
            "title": source.title[:500],
            "url": source.url,
            "domain": source.domain[:255],
            "provider": source.provider[:64],
            "snapshot": source.text,
            "snapshot_hash": hashlib.sha256(source.text.encode()).hexdigest(),
            "read_at": source.read_at,
            "published_at": source.published_at,
        },
    )
    known = set(row.passages.values_list("start", "end"))
    Passage.objects.bulk_create(
        Passage(source=row, start=span.start, end=span.end)
        for span in source.passages
        if (span.start, span.end) not in known
    )


def sources_of(run: Run) -> list[values.Source]:
    """The sources of a run as values, in the order of their numbers."""
    rows = Source.objects.filter(run=run).prefetch_related("passages")
    return [
        values.Source(
            number=row.number,
            title=row.title,
            url=row.url,
            domain=row.domain,
            text=row.snapshot,
            read_at=row.read_at,
            provider=row.provider,
            published_at=row.published_at,
            passages=tuple(Span(one.start, one.end) for one in row.passages.all()),
        )
        for row in rows
    ]


# --- Ending a run -------------------------------------------------------------------------------


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


def end_run(
    run_id: int, last_seq: int, events: Sequence[AgentEvent], ending: Ending
) -> list[dict[str, Any]]:
    """The last events, the answer's text, its citations and the status: all or nothing."""
    with transaction.atomic():
        told = append_events(run_id, last_seq, events)
        run = Run.objects.select_related("answer").get(pk=run_id)
        _close(run, ending)
        cite(run, ending.citations)
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
        model_name=ending.model_name[:200],
        finished_at=now,
    )
    if moved != 1:
        raise RunLost
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
            )
        )
    Citation.objects.bulk_create(rows)


# --- Runs whose process died --------------------------------------------------------------------


def sweep_conversation(conversation_id: int) -> int:
    """Marks the conversation's runs whose process died as interrupted."""
    return _sweep(Run.objects.filter(conversation_id=conversation_id))


def sweep_all() -> int:
    """Marks every run without a heartbeat as interrupted; says how many there were."""
    return _sweep(Run.objects.all())


def _sweep(runs: Any) -> int:
    dead = [run for run in runs.filter(status=RunStatus.RUNNING) if _is_dead(run)]
    return sum(interrupt(run.pk) for run in dead)


def _is_dead(run: Run) -> bool:
    if run.heartbeat_at < timezone.now() - STALE_AFTER:
        return True
    host, _, pid = run.process.rpartition(":")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def interrupt(run_id: int, reason: str = INTERRUPTED) -> bool:
    """Ends a run that nobody drives any more, with the text it had. False when it had ended."""
    with transaction.atomic():
        moved = Run.objects.filter(pk=run_id, status=RunStatus.RUNNING).update(
            status=RunStatus.INTERRUPTED,
            reason=reason,
            finished_at=timezone.now(),
            last_seq=F("last_seq") + 1,
        )
        if moved != 1:
            return False
        run = Run.objects.get(pk=run_id)
        text = clean_text(text_so_far(read_events(run_id)))
        Message.objects.filter(pk=run.answer_id).update(text=text, model_text=strip_markers(text))
        RunEvent.objects.create(
            run=run,
            seq=run.last_seq,
            type="run_finished",
            data={"status": RunStatus.INTERRUPTED.value, "reason": reason},
        )
    return True


def text_so_far(events: Iterable[dict[str, Any]]) -> str:
    """The answer's text after these events: retractions go back to where their step began."""
    text, step_start = "", 0
    for event in events:
        if event["type"] == "step_started":
            step_start = len(text)
        elif event["type"] == "text_added":
            text += event["text"]
        elif event["type"] == "text_retracted":
            text = text[:step_start]
        elif event["type"] == "text_corrected":
            text = event["text"]
    return text
