"""Traces of turns and background tasks through OpenTelemetry, where an operator asks for them.

Off by default, and then nothing is imported and nothing costs. A span holds ids, counts, times and
outcomes, never a word of what was said or read. Where it is sent to is told by the standard
variables of OpenTelemetry (`OTEL_EXPORTER_OTLP_ENDPOINT` and others).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from django.conf import settings

from chat.agent.events import AgentEvent, ToolFinished

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

SERVICE = "lumina"
SECOND = 1_000_000_000
"""Nanoseconds, in which spans count."""


def is_installed() -> bool:
    return bool(find_spec("opentelemetry.sdk") and find_spec("opentelemetry.exporter"))


@cache
def provider() -> TracerProvider | None:
    """That of this process, made when it is first needed: a worker's children each have one."""
    if not (settings.LUMINA_TRACING and is_installed()):
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


class Span:
    """Something that takes time; does nothing where tracing is off. End it once."""

    def __init__(self, name: str, about: Mapping[str, Any], parent: Any = None) -> None:
        made_by = provider()
        self._context: Any = None
        self._span: Any = None
        if made_by is None:
            return
        from opentelemetry.trace import set_span_in_context

        tracer = made_by.get_tracer(SERVICE)
        self._span = tracer.start_span(name, context=parent, attributes=_known(about))
        self._context = set_span_in_context(self._span)

    def hear(self, batch: Iterable[AgentEvent]) -> None:
        """The tools that have been used in a turn, each as a span of its own."""
        if self._span is None:
            return
        made_by = provider()
        assert made_by is not None
        now = time.time_ns()
        for event in batch:
            if isinstance(event, ToolFinished):
                began = now - int(event.seconds * SECOND)
                about = {"results": event.n_results, "failed": bool(event.error)}
                tool = made_by.get_tracer(SERVICE).start_span(
                    event.tool, context=self._context, attributes=about, start_time=began
                )
                tool.end(now)

    def end(self, about: Mapping[str, Any] | None = None, *, failed: bool = False) -> None:
        if self._span is None:
            return
        from opentelemetry.trace import StatusCode

        self._span.set_attributes(_known(about or {}))
        if failed:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()


def _known(about: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenTelemetry takes: nothing that is None."""
    return {name: value for name, value in about.items() if value is not None}
