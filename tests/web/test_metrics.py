"""/metrics: what is counted, under labels from closed lists, and who may read it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from chat import metrics
from chat.agent.events import RunFinished, TextAdded, ToolFinished
from chat.agent.values import Usage
from chat.metrics import Access
from chat.models import User
from chat.providers.search.brave import BraveProvider
from chat.providers.search.failover import NOTHING
from chat.providers.search.keyless import KeylessProvider
from chat.providers.search.library import LibraryProvider
from chat.providers.search.searxng import SearxngProvider
from chat.providers.search.tavily import TavilyProvider
from chat.providers.search.wikipedia import WikipediaProvider
from chat.statuses import RunStatus
from chat.turn_record import TurnRecord
from tests.servers.model_script import call, say
from tests.web.conftest import until

pytestmark = pytest.mark.django_db(transaction=True)

LOCAL = {"host": "localhost"}


def values(text: str) -> dict[str, float]:
    """Each sample by name and labels, as Prometheus itself would parse it."""
    return {
        sample.name + "".join(f"/{label}" for label in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def now() -> dict[str, float]:
    return values(metrics.page(3, 0).decode())


def gained(before: dict[str, float]) -> dict[str, float]:
    return {k: v - before.get(k, 0) for k, v in now().items() if v != before.get(k, 0)}


async def test_a_turn_is_counted_with_its_searches_tokens_and_times(
    alice: User, page_of: Callable[..., Any], model: Any
) -> None:
    before = now()
    model([call("search_library", query="ice"), say("Ice floats.")])
    page = await page_of(alice)
    assert now()["lumina_open_sockets"] == before["lumina_open_sockets"] + 1
    assert (await page.ask())[-1]["status"] == "complete"
    await until(lambda: now()["lumina_active_runs"] == before["lumina_active_runs"])
    found = gained(before)
    assert found["lumina_runs_total/complete"] == 1
    assert found["lumina_first_text_seconds_count"] == found["lumina_run_seconds_count"] == 1
    assert found["lumina_recall_seconds_count"] == 1
    assert found["lumina_searches_total/nothing/library"] == 1
    assert found["lumina_tokens_total/prompt"] > 0
    await page.close()
    await until(lambda: now()["lumina_open_sockets"] == before["lumina_open_sockets"])


async def test_a_run_that_goes_on_is_active(
    alice: User, page_of: Callable[..., Any], model: Any
) -> None:
    before = now()["lumina_active_runs"]
    model([[{"text": "Slowly"}, {"hang": True}]])
    page = await page_of(alice)
    await page.send({"type": "ask", "text": "Why?", "client_id": "c-1"})
    run = (await page.until("text_added"))[0]["run"]
    assert now()["lumina_active_runs"] == before + 1
    await page.send({"type": "stop", "run": run})
    await page.until("run_finished")
    await until(lambda: now()["lumina_active_runs"] == before)


def test_labels_come_from_closed_lists_whatever_is_told() -> None:
    before = now()
    record = TurnRecord()
    passed_over = (("Wikipedia", NOTHING), ("Brave Search", "refused"), ("evil\nprovider", "x"))
    record.hear(
        [
            ToolFinished(call="1", tool="web_search", provider="SearXNG", passed_over=passed_over),
            ToolFinished(call="2", tool="invented", provider="Wikipedia"),
            TextAdded("Hello"),
            RunFinished(status="complete", usage=Usage(10, 5)),
        ]
    )
    metrics.count_turn("invented", record)
    found = gained(before)
    searches = {k.partition("/")[2]: v for k, v in found.items() if "searches_total" in k}
    assert searches == {
        "nothing/wikipedia": 1,
        "failed/brave": 1,
        "failed/other": 1,
        "found/searxng": 1,
    }
    assert found["lumina_runs_total/other"] == 1
    assert (found["lumina_tokens_total/prompt"], found["lumina_tokens_total/completion"]) == (10, 5)


def test_every_provider_and_every_status_has_its_label() -> None:
    providers = (
        BraveProvider,
        KeylessProvider,
        LibraryProvider,
        SearxngProvider,
        TavilyProvider,
        WikipediaProvider,
    )
    assert {one.name for one in providers} == set(metrics.PROVIDERS)
    for status in RunStatus.values:
        metrics.count_turn(status, TurnRecord())
    assert {f"lumina_runs_total/{status}" for status in RunStatus.values} <= set(now())


def test_a_queue_out_of_reach_is_no_number_and_holds_nothing_up(
    settings: Any, monkeypatch: Any
) -> None:
    def away() -> int:
        raise OSError

    settings.LUMINA_METRICS = True
    monkeypatch.setattr("chat.views.QUEUE_SECONDS", 0.2)
    for queue_length in (away, lambda: time.sleep(2)):
        monkeypatch.setattr("chat.views.n_waiting", queue_length)
        began = time.monotonic()
        text = Client(headers=LOCAL).get("/metrics").content.decode()
        assert math.isnan(values(text)["lumina_queue_length"])
        assert time.monotonic() - began < 1.5


# --- Who may read --------------------------------------------------------------------------------


def test_it_is_off_by_default_and_then_for_this_machine_alone(settings: Any) -> None:
    assert Client(headers=LOCAL).get("/metrics").status_code == 404
    settings.LUMINA_METRICS = True
    response = Client(headers=LOCAL).get("/metrics")
    assert response.status_code == 200
    assert "lumina_queue_length" in values(response.content.decode())
    assert Client(headers=LOCAL, REMOTE_ADDR="10.0.0.7").get("/metrics").status_code == 404


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Real-IP"])
def test_what_a_proxy_on_this_machine_hands_on_is_not_from_this_machine(
    settings: Any, header: str
) -> None:
    settings.LUMINA_METRICS = True
    assert Client(headers={**LOCAL, header: "1.2.3.4"}).get("/metrics").status_code == 404
    settings.ALLOWED_HOSTS = ["lumina.example"]
    assert Client(headers={"host": "lumina.example"}).get("/metrics").status_code == 404


def test_the_token_opens_it_from_anywhere_and_nothing_like_it(settings: Any) -> None:
    settings.LUMINA_METRICS_TOKEN = "token-1"
    far = Client(headers=LOCAL, REMOTE_ADDR="10.0.0.7")
    for given, status in (
        ("Bearer token-1", 200),
        ("Bearer token-2", 404),
        ("Bearer ", 404),
        ("", 404),
        ("Bearer tökên", 404),
    ):
        assert far.get("/metrics", headers={"Authorization": given}).status_code == status, given
    assert Client(headers=LOCAL).get("/metrics").status_code == 404


def test_without_a_token_an_empty_one_opens_nothing() -> None:
    access = Access(on_loopback=False, token="")
    for authorization in ("", "Bearer ", "Bearer"):
        assert not access.allows(
            authorization=authorization, peer="127.0.0.1", host="localhost", forwarded=False
        )


def test_what_is_not_indexed_is_counted(alice: Any, settings: Any) -> None:
    from memory.service import remember
    from tests.web.test_memory_tasks import answered

    settings.LUMINA_METRICS = True
    run = answered(alice)
    told = Client().get("/metrics", HTTP_HOST="127.0.0.1").content.decode()
    assert "lumina_index_backlog 2.0" in told
    remember(run.answer_id)
    told = Client().get("/metrics", HTTP_HOST="127.0.0.1").content.decode()
    assert "lumina_index_backlog 0.0" in told
