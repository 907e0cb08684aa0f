"""What this process counts, in the form that Prometheus reads. Labels come from closed lists."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from chat.agent.values import Usage
from chat.checks import is_loopback
from chat.statuses import RunStatus
from chat.turn_record import TurnRecord

OTHER = "other"
PROVIDERS = {
    "SearXNG": "searxng",
    "Tavily": "tavily",
    "Brave Search": "brave",
    "Web search without a key": "keyless",
    "Wikipedia": "wikipedia",
    "Your library": "library",
}
FIRST_TEXT_BUCKETS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)
RUN_BUCKETS = (0.5, 1, 2, 5, 10, 20, 40, 80, 160, 300, 600)
RECALL_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

registry = CollectorRegistry()
RUNS = Counter("lumina_runs", "Runs that ended, by status", ["status"], registry=registry)
FIRST_TEXT = Histogram(
    "lumina_first_text_seconds",
    "From a run's start to the first text of its answer",
    buckets=FIRST_TEXT_BUCKETS,
    registry=registry,
)
RUN_SECONDS = Histogram(
    "lumina_run_seconds", "From a run's start to its end", buckets=RUN_BUCKETS, registry=registry
)
TOKENS = Counter("lumina_tokens", "Tokens read and written by models", ["kind"], registry=registry)
SEARCHES = Counter(
    "lumina_searches",
    "Searches, by provider and outcome: found, nothing or failed",
    ["provider", "outcome"],
    registry=registry,
)
RECALL = Histogram(
    "lumina_recall_seconds",
    "Choosing what of the conversation the model sees",
    buckets=RECALL_BUCKETS,
    registry=registry,
)
ACTIVE_RUNS = Gauge("lumina_active_runs", "Runs of this process", registry=registry)
OPEN_SOCKETS = Gauge("lumina_open_sockets", "Sockets of this process", registry=registry)
INDEX = Gauge("lumina_index_backlog", "Messages that are not indexed yet", registry=registry)
QUEUE = Gauge("lumina_queue_length", "Tasks that wait for the worker", registry=registry)


def count_turn(status: str, record: TurnRecord) -> None:
    RUNS.labels(status if status in RunStatus.values else OTHER).inc()
    RUN_SECONDS.observe(record.seconds)
    if record.first_text_seconds is not None:
        FIRST_TEXT.observe(record.first_text_seconds)
    count_usage(record.usage)
    for provider, outcome in record.searches:
        SEARCHES.labels(PROVIDERS.get(provider, OTHER), outcome).inc()


def count_usage(usage: Usage) -> None:
    TOKENS.labels("prompt").inc(usage.prompt_tokens)
    TOKENS.labels("completion").inc(usage.completion_tokens)


def page(queue_length: float, index_backlog: float) -> bytes:
    """Everything, as text. What nobody knows is not a number."""
    QUEUE.set(queue_length)
    INDEX.set(index_backlog)
    return generate_latest(registry)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read: programs on this machine if `on_loopback`, others with the token."""

    on_loopback: bool
    token: str

    def allows(self, *, authorization: str, peer: str, host: str, forwarded: bool) -> bool:
        """`forwarded`: a proxy has handed the request on, so its peer says nothing."""
        given = authorization.removeprefix("Bearer ").encode()
        if self.token and hmac.compare_digest(given, self.token.encode()):
            return True
        return self.on_loopback and not forwarded and is_loopback(peer) and is_loopback(host)
