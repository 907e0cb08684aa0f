"""What is noted of a turn beside its content: counts, durations, outcomes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chat.agent.events import (
    AgentEvent,
    RunFinished,
    SentenceReplaced,
    SentenceUnsupported,
    SourceFound,
    TextAdded,
    ToolFinished,
)
from chat.agent.tools import SEARCH_LIBRARY, WEB_SEARCH
from chat.agent.values import Usage
from chat.providers.search.failover import NOTHING


@dataclass(slots=True)
class TurnRecord:
    """`searches` holds provider and outcome (found, nothing, failed) of each that was asked."""

    started: float = field(default_factory=time.monotonic)
    first_text_seconds: float | None = None
    usage: Usage = field(default_factory=Usage)
    n_steps: int = 0
    n_tools: int = 0
    n_failed_tools: int = 0
    n_sources: int = 0
    n_mended: int = 0
    n_unsupported: int = 0
    searches: list[tuple[str, str]] = field(default_factory=list)

    def hear(self, batch: Iterable[AgentEvent]) -> None:
        for event in batch:
            if isinstance(event, TextAdded) and self.first_text_seconds is None:
                self.first_text_seconds = self.seconds
            elif isinstance(event, ToolFinished):
                self.n_tools += 1
                self.n_failed_tools += bool(event.error)
                self.searches += _searches_of(event)
            elif isinstance(event, SourceFound):
                self.n_sources = max(self.n_sources, event.source.number)
            elif isinstance(event, SentenceReplaced):
                self.n_mended += 1
            elif isinstance(event, SentenceUnsupported):
                self.n_unsupported += 1
            elif isinstance(event, RunFinished):
                self.usage, self.n_steps = event.usage, event.n_steps

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def fields(self) -> dict[str, Any]:
        first = self.first_text_seconds
        return {
            "seconds": round(self.seconds, 3),
            "first_text_seconds": round(first, 3) if first is not None else None,
            "steps": self.n_steps,
            "tools": self.n_tools,
            "failed_tools": self.n_failed_tools,
            "sources": self.n_sources,
            "mended": self.n_mended,
            "unsupported": self.n_unsupported,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
        }


def _searches_of(event: ToolFinished) -> Iterator[tuple[str, str]]:
    if event.tool not in {WEB_SEARCH, SEARCH_LIBRARY}:
        return
    for provider, reason in event.passed_over:
        yield provider, "nothing" if reason == NOTHING else "failed"
    if event.provider:
        yield event.provider, "found"
