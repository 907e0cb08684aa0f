"""Runs whose process died: found by whoever looks, marked interrupted, their text kept."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chat.answer_text import answer_after
from chat.citing import citations_of
from chat.models import Message, Run, RunEvent
from chat.rendering import strip_markers
from chat.statuses import RunStatus
from chat.store.ending import cite
from chat.store.events import read_events
from chat.store.reading import sources_of
from memory.service import clean_text

STALE_AFTER = timedelta(seconds=8)
INTERRUPTED = "The server stopped before the answer was finished. Try again."


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
            address="",
            finished_at=timezone.now(),
            last_seq=F("last_seq") + 1,
        )
        if moved != 1:
            return False
        run = Run.objects.get(pk=run_id)
        answer = answer_after(read_events(run_id))
        text = clean_text(answer.text)
        Message.objects.filter(pk=run.answer_id).update(text=text, model_text=strip_markers(text))
        cite(run, citations_of(text, sources_of(run), answer.marks_in(text))[0])
        Run.objects.filter(pk=run_id).update(
            fail_count=answer.fail_count, last_error=answer.last_error
        )
        RunEvent.objects.create(
            run=run,
            seq=run.last_seq,
            type="run_finished",
            data={"status": RunStatus.INTERRUPTED.value, "reason": reason},
        )
    return True
