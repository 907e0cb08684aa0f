"""Rows to values and back. Owns the transactions: short, and each with one purpose.

Synchronous, as Django 5.2 has no asynchronous transactions; callers wrap it.
"""

from chat.store.asking import Ask, Refused, SessionFacts, begin_run, own_conversation
from chat.store.ending import Ending, cite, end_run
from chat.store.events import (
    Append,
    RunLost,
    append_all,
    append_events,
    as_event,
    beat,
    keep_sources,
    note_receipt,
    read_events,
    request_stop,
    to_stop,
)
from chat.store.reading import (
    Said,
    cut_answer,
    earlier_sources,
    first_question,
    newest_runs,
    own_run,
    run_with_parts,
    runs_after,
    said_before,
    said_rows,
    said_with,
    sources_of,
    window_before,
)
from chat.store.sweeping import interrupt, sweep_all, sweep_conversation

__all__ = [
    "Append",
    "Ask",
    "Ending",
    "Refused",
    "RunLost",
    "Said",
    "SessionFacts",
    "append_all",
    "append_events",
    "as_event",
    "beat",
    "begin_run",
    "cite",
    "cut_answer",
    "earlier_sources",
    "end_run",
    "first_question",
    "interrupt",
    "keep_sources",
    "newest_runs",
    "note_receipt",
    "own_conversation",
    "own_run",
    "read_events",
    "request_stop",
    "run_with_parts",
    "runs_after",
    "said_before",
    "said_rows",
    "said_with",
    "sources_of",
    "sweep_all",
    "sweep_conversation",
    "to_stop",
    "window_before",
]
