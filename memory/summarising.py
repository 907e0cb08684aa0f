"""Summaries of what left the window: wished for, made in the background, read for the prompt.

A model writes them where there is one, else they are quoted. Either way they come from the
messages themselves, in chunks, and never from another summary. A failure changes nothing else: the
messages stay where they are, the row says what went wrong, and it is tried again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory import summary_store
from memory.engine.summaries import shortened
from memory.engine.tokens import estimate_tokens
from memory.later import later
from memory.summary_making import made
from memory.summary_models import Summary
from memory.summary_ports import SummaryFailed, is_own, means
from memory.summary_store import Job, Made
from memory.tasks_summaries import summarise_span

logger = logging.getLogger("lumina.summaries")

_LEASE_SPARE = timedelta(minutes=2)
_UNEXPECTED = "The summary failed for a reason that nobody foresaw; the log has more."


# --- Wishing and reading ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryText:
    """A summary for the prompt: what it says, from which message to which, and when they were
    said. `is_cut`: the budget had no room for all of it."""

    summary_id: int
    text: str
    first_id: int
    last_id: int
    n_messages: int
    first_at: datetime | None
    last_at: datetime | None
    n_tokens: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSummary:
    """A summary for a person: also one that is still wished for, or has failed and why."""

    summary_id: int
    status: str
    text: str
    first_id: int
    last_id: int
    n_messages: int
    n_tokens: int
    first_at: datetime | None
    last_at: datetime | None
    model_name: str
    error: str
    tries: int
    next_try_at: datetime | None
    made_at: datetime | None


def left_window(
    owner_id: int, conversation_id: int, head_id: int | None, *, before_id: int
) -> None:
    """The window now starts at `before_id`: what is before it on the path is to be summarised.

    Does nothing for a message that is not on the path, or of somebody else.
    """
    most = means().limits().spans
    left = _left(owner_id, conversation_id, head_id, before_id) if most else []
    if left:
        later(summarise_span, summary_store.want(owner_id, conversation_id, left, most))


def summaries(
    owner_id: int,
    conversation_id: int,
    head_id: int | None,
    *,
    before_id: int | None,
    budget_tokens: int,
) -> list[SummaryText]:
    """What is summarised of the path before `before_id` (None: of all of it), oldest first,
    together within the budget. Where it is short, each keeps its most telling lines."""
    left = _left(owner_id, conversation_id, head_id, before_id)
    is_off = not means().limits().spans
    rows = [] if is_off or not left else summary_store.shown(owner_id, conversation_id, left)
    texts: list[tuple[int, SummaryText]] = []
    budget = budget_tokens
    for waiting, row in sorted(enumerate(rows), key=lambda one: (one[1].n_tokens, one[0])):
        share = budget // (len(rows) - len(texts))
        text = row.text
        if row.n_tokens > share:
            text = shortened(row.text, row.order, share, estimate_tokens)
        n_tokens = estimate_tokens(text)
        budget -= n_tokens
        texts.append((waiting, _shown(row, text, n_tokens)))
    return [one for _, one in sorted(texts, key=lambda one: one[0]) if one.text]


def summaries_of(owner_id: int, conversation_id: int) -> list[KeptSummary]:
    """Everything that is or is to be summarised of a conversation, by where it begins."""
    return [
        KeptSummary(
            summary_id=row.pk,
            status=row.status,
            text=row.text,
            first_id=row.first_message,
            last_id=row.last_message,
            n_messages=row.n_messages,
            n_tokens=row.n_tokens,
            first_at=row.first_at,
            last_at=row.last_at,
            model_name=row.model_name,
            error=row.error,
            tries=row.tries,
            next_try_at=row.next_try_at if row.status == Summary.Status.FAILED else None,
            made_at=row.made_at,
        )
        for row in summary_store.all_of(owner_id, conversation_id)
    ]


def _left(
    owner_id: int, conversation_id: int, head_id: int | None, before_id: int | None
) -> list[int]:
    reader = means().reader
    path = list(reader.path(conversation_id, head_id)) if head_id is not None else []
    if before_id is not None and before_id not in path:
        return []
    found = reader.read(path[:1])  # of one path, one owner; a question is quick to read
    if not any(is_own(one, owner_id, conversation_id) for one in found):
        return []
    return path if before_id is None else path[: path.index(before_id)]


def _shown(row: Summary, text: str, n_tokens: int) -> SummaryText:
    return SummaryText(
        summary_id=row.pk,
        text=text,
        first_id=row.first_message,
        last_id=row.last_message,
        n_messages=row.n_messages,
        first_at=row.first_at,
        last_at=row.last_at,
        n_tokens=n_tokens,
        is_cut=text != row.text,
    )


def forget_summarised(message_id: int) -> None:
    """A message is about to go: what was summarised from it goes at once, and is made again from
    what is left."""
    later(summarise_span, summary_store.forget_message(message_id))


# --- Making -------------------------------------------------------------------------------------


def summarise(summary_id: int) -> None:
    """Makes a summary that is wished for. Harmless where it is made already or being made."""
    given = means()
    limits = given.limits()
    job = summary_store.claim(summary_id, timedelta(seconds=limits.seconds) + _LEASE_SPARE)
    if job is None:
        return
    try:
        result = made(job, given, limits)
    except SummaryFailed as failure:
        logger.warning("Summary %d failed, try %d: %s", job.summary_id, job.tries, failure)
        summary_store.fail(job, str(failure))
    except Exception:
        logger.exception("Summary %d failed, try %d", job.summary_id, job.tries)
        summary_store.fail(job, _UNEXPECTED)
    else:
        _keep(job, result)


def _keep(job: Job, result: Made) -> None:
    if summary_store.finish(job, result):
        logger.info(
            "Summary %d: %d messages in %d tokens, %s",
            job.summary_id,
            len(job.message_ids),
            result.summary.n_tokens,
            result.model_name or "quoted",
        )
    else:
        logger.info("Summary %d: its messages changed meanwhile", job.summary_id)
