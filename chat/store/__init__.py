"""Rows to values and back. Owns the transactions: short, and each with one purpose.

Synchronous, as Django 5.2 has no asynchronous transactions; callers wrap it.
"""

from chat.store.asking import Ask, Refused, SessionFacts, begin_run, own_conversation
from chat.store.ending import Ending, cite, end_run
from chat.store.events import (
    RunLost,
    append_events,
    as_event,
    beat,
    keep_sources,
    read_events,
    request_stop,
    to_stop,
)
from chat.store.reading import (
    clean_history,
    cut_answer,
    first_question,
    own_run,
    run_with_parts,
    runs_after,
    said_with,
    sources_of,
)
from chat.store.sweeping import interrupt, sweep_all, sweep_conversation

__all__ = [
    "Ask",
    "Ending",
    "Refused",
    "RunLost",
    "SessionFacts",
    "append_events",
    "as_event",
    "beat",
    "begin_run",
    "cite",
    "clean_history",
    "cut_answer",
    "end_run",
    "first_question",
    "interrupt",
    "keep_sources",
    "own_conversation",
    "own_run",
    "read_events",
    "request_stop",
    "run_with_parts",
    "runs_after",
    "said_with",
    "sources_of",
    "sweep_all",
    "sweep_conversation",
    "to_stop",
]
