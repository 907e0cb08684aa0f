"""Traces of real turns, sent to a collector on the loopback; and none where nobody asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from django.core.checks import run_checks
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from chat import tasks, tracing
from chat.database import in_database
from chat.library import ensure_sample_library
from tests.servers.model_script import call, say

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A server that takes what exporters send, as it came."""
    taken: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def taken(settings: Any, monkeypatch: Any) -> Iterator[list[bytes]]:
    with collector() as (url, taken):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        settings.LUMINA_TRACING = True
        tracing.provider.cache_clear()
        yield taken
        provider = tracing.provider()
        assert provider is not None
        provider.shutdown()
        tracing.provider.cache_clear()


def spans(taken: list[bytes]) -> list[Any]:
    provider = tracing.provider()
    assert provider is not None
    provider.force_flush()
    told = [ExportTraceServiceRequest.FromString(body) for body in taken]
    return [
        span
        for one in told
        for resource in one.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def about(span: Any) -> dict[str, Any]:
    return {
        one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes
    }


async def test_a_turn_is_traced_with_its_tools_and_without_a_word(
    page_of: Any, alice: Any, model: Any, taken: list[bytes]
) -> None:
    await in_database(ensure_sample_library)()
    model([call("search_library", query="why does ice float"), say("The zebrafish floats [1].")])
    page = await page_of(alice)
    await page.ask("Does the zebrafish float?")
    from chat.runs import manager

    await manager.shutdown()
    found = {span.name: span for span in spans(taken)}
    assert set(found) == {"turn", "search_library"}
    told = about(found["turn"])
    assert told["status"] == "complete"
    assert told["owner"] == alice.pk
    assert told["tools"] == 1
    assert found["search_library"].parent_span_id == found["turn"].span_id
    assert about(found["search_library"])["results"] > 0
    assert not any(b"zebrafish" in body or b"ice float" in body for body in taken)


def test_a_task_is_traced_with_how_it_ended(taken: list[bytes]) -> None:
    tasks.sweep_runs.apply()
    (span,) = spans(taken)
    assert span.name == "chat.tasks.sweep_runs"
    assert about(span)["state"] == "SUCCESS"


async def test_where_nobody_asks_nothing_is_sent(page_of: Any, alice: Any, model: Any) -> None:
    tracing.provider.cache_clear()
    model([say("Yes.")])
    page = await page_of(alice)
    with collector() as (_, taken):
        await page.ask("Why?")
        assert tracing.provider() is None
        assert taken == []


def test_what_is_missing_is_said_before_anything_starts(settings: Any, monkeypatch: Any) -> None:
    settings.LUMINA_TRACING = True
    monkeypatch.setattr("chat.checks.is_installed", lambda: False)
    faults = [fault for fault in run_checks() if fault.id == "lumina.E020"]
    assert "requirements-tracing.txt" in str(faults[0].hint)
