"""The steps of a run as a person reads them: what was looked for, where, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chat.agent.history_tool import SEARCH_HISTORY
from chat.agent.memory_tools import (
    MEMORY_FORGET,
    MEMORY_LIST,
    MEMORY_READ,
    MEMORY_TOOLS,
    MEMORY_WRITE,
)
from chat.agent.sources import domain_of
from chat.agent.tools import READ_PAGE, SEARCH_LIBRARY, WEB_SEARCH

Event = Mapping[str, Any]

_VERBS = {
    WEB_SEARCH: ("Searching the web for", "Searched the web for"),
    SEARCH_LIBRARY: ("Searching the library for", "Searched the library for"),
    SEARCH_HISTORY: ("Searching the conversations for", "Searched the conversations for"),
    READ_PAGE: ("Reading", "Read"),
    MEMORY_LIST: ("Looking at the list of memory files", "Looked at the list of memory files"),
    MEMORY_READ: ("Reading", "Read"),
    MEMORY_WRITE: ("Saving to", "Tried to save to"),
    MEMORY_FORGET: ("Forgetting in", "Tried to forget in"),
}
_CHECKS = ("sentence_failed", "sentence_replaced", "sentence_unsupported")
_CHANGES = (MEMORY_WRITE, MEMORY_FORGET)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the list of steps. `state` is running, done, failed or said."""

    key: int
    state: str
    tool: str = ""
    subject: str = ""
    call: str = ""
    n_results: int = 0
    seconds: float = 0.0
    provider: str = ""
    passed_over: tuple[tuple[str, str], ...] = ()
    error: str = ""
    said: str = ""

    @property
    def is_memory(self) -> bool:
        return self.tool in MEMORY_TOOLS

    @property
    def label(self) -> str:
        if self.state == "said":
            return self.subject
        if self.said:
            return self.said
        running, done = _VERBS.get(self.tool, ("Using", "Used"))
        return f"{running if self.state == 'running' else done} "

    @property
    def what(self) -> str:
        """The subject as it is shown: a query in quotes, a page by its domain."""
        if self.state == "said" or self.said:
            return ""
        if self.is_memory:
            return self.subject
        return domain_of(self.subject) if self.tool == READ_PAGE else f"“{self.subject}”"

    @property
    def outcome(self) -> str:
        """Count, time and provider, such as "6 results · 0.4 s · Wikipedia"."""
        if self.state != "done" or self.is_memory:
            return ""
        parts = [] if self.tool == READ_PAGE else [_counted(self.n_results, "result")]
        parts.append(f"{self.seconds:.1f} s")
        if self.provider and self.tool == WEB_SEARCH and self.n_results:
            parts.append(self.provider)
        return " · ".join(parts)


@dataclass(slots=True)
class Steps:
    """The list of steps, kept up event by event."""

    items: list[Step] = field(default_factory=list)
    n_sources: int = 0
    writing: bool = False
    mending: bool = False
    retold: bool = False
    n_mended: int = 0
    n_unsupported: int = 0

    def hear(self, event: Event) -> Step | None:
        """The step that this event begins or changes, if any."""
        kind = event["type"]
        self.retold = self.retold or kind == "text_corrected"
        if kind in _CHECKS and not self.retold:
            return self._check(event)
        if kind in {"step_started", "text_added", "text_retracted"}:
            self.writing = kind == "text_added"
        if kind == "tool_started":
            return self._begin(event)
        if kind == "tool_finished":
            return self._finish(event)
        if kind == "text_retracted" and event["note"].strip():
            return self._say(event["note"].strip())
        if kind == "limit_reached":
            return self._say(
                f"Reached the limit of {event['limit']}; answering from what is there."
            )
        return None

    def end(self) -> list[Step]:
        """When the run is over nothing is running any more; returns the steps that changed."""
        changed = [replace(step, state="failed", error="Not finished.") for step in self._running()]
        for step in changed:
            self.items[step.key] = step
        return changed

    @property
    def now(self) -> str:
        """What the run is doing, as the line above the list says it."""
        running = self._running()
        if running:
            return f"{running[-1].label}{running[-1].what}…"
        if self.mending:
            return "Mending a sentence…"
        if self.writing:
            return "Writing the answer…"
        return "Thinking…"

    @property
    def summary(self) -> str:
        """What the run did, such as "2 searches · 1 page read · Saved to knowledge/user.md"; empty
        when it did nothing that counts."""
        used = [step for step in self.items if step.tool and not step.is_memory]
        changes = [step for step in self.items if step.tool in _CHANGES and step.said]
        searches = sum(step.tool != READ_PAGE for step in used)
        pages = sum(step.tool == READ_PAGE and step.state == "done" for step in used)
        failures = sum(step.state == "failed" for step in self.items)
        parts = [_counted(searches, "search", "searches")] if searches else []
        parts += [f"{_counted(pages, 'page')} read"] if pages else []
        parts += [f"{failures} failed"] if failures else []
        parts += [f"{_counted(self.n_mended, 'sentence')} mended"] if self.n_mended else []
        parts += [f"{self.n_unsupported} not supported"] if self.n_unsupported else []
        parts += [step.said for step in changes]
        return " · ".join(parts)

    def _running(self) -> list[Step]:
        return [step for step in self.items if step.state == "running"]

    def _begin(self, event: Event) -> Step:
        return self._add(
            Step(len(self.items), "running", event["tool"], event["subject"], call=event["call"])
        )

    def _finish(self, event: Event) -> Step | None:
        for step in reversed(self.items):
            if step.call == event["call"] and step.state == "running":
                self.items[step.key] = replace(
                    step,
                    state="failed" if event["error"] else "done",
                    n_results=event["n_results"],
                    seconds=event["seconds"],
                    provider=event["provider"],
                    passed_over=tuple((name, why) for name, why in event["passed_over"]),
                    error=event["error"],
                    said=event.get("said", ""),
                )
                return self.items[step.key]
        return None

    def _check(self, event: Event) -> Step | None:
        self.mending = event["type"] == "sentence_failed"
        if self.mending:
            return None
        if event["type"] == "sentence_replaced":
            self.n_mended += 1
            return self._say(
                f"Replaced a sentence that was not supported. It is now: {event['text']}"
            )
        self.n_unsupported += 1
        return self._say(f"Left a sentence without support: {event['problem']}.")

    def _say(self, text: str) -> Step:
        return self._add(Step(len(self.items), "said", subject=text))

    def _add(self, step: Step) -> Step:
        self.items.append(step)
        return step


def steps_of(events: Iterable[Event], *, over: bool) -> Steps:
    steps = Steps()
    for event in events:
        steps.hear(event)
    if over:
        steps.end()
    return steps


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
