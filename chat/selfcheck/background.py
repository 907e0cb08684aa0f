"""What works between the processes: broker, worker, schedule, channel layer."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

from channels.layers import channel_layers
from django.conf import settings
from django.utils import timezone
from django.utils.timesince import timesince
from kombu.exceptions import OperationalError

from chat import queue, tasks
from chat.models import WorkerSign
from chat.selfcheck.findings import Finding, failure, ok, warning
from memory.service import EmbedderFailed, embedder_name, n_unindexed

ANSWER_SECONDS = 6.0
LOOK_SECONDS = 0.1
MANY_WAITING = 1_000
SCHEDULE_LATE = timedelta(minutes=3)
REDIS_FIX = "Start Redis, or correct REDIS_URL."
ENCODER_FIX = "Correct LUMINA_EMBEDDER_URL and its model, or set LUMINA_EMBEDDER=none."
WORKER_FIX = "celery -A lumina worker --beat (scripts/run starts it by itself)"


def broker_fix() -> str:
    folder = settings.CELERY_BROKER_DIR
    return REDIS_FIX if settings.REDIS_URL else f"Make {folder} writable for Lumina."


def broker() -> Finding:
    try:
        waiting = queue.n_waiting()
    except (OperationalError, OSError) as error:
        return failure(f"The queue cannot be reached ({type(error).__name__}).", broker_fix())
    where = "Redis" if settings.REDIS_URL else "The queue on the disk"
    if waiting > MANY_WAITING:
        return warning(f"{waiting} tasks wait: the worker does not keep up.", WORKER_FIX)
    return ok(f"{where} takes tasks; {waiting} {'waits' if waiting == 1 else 'wait'}.")


def worker() -> Finding:
    name = f"check-{uuid.uuid4().hex}"
    WorkerSign.objects.create(name=name)
    try:
        tasks.answer_check.apply_async([name], expires=60, retry=False)
        seconds = _wait_for(name)
    except (OperationalError, OSError):
        return failure("No task can be handed over: the queue is out of reach.", broker_fix())
    finally:
        WorkerSign.objects.filter(name=name).delete()
    if seconds is None:
        sentence = f"A task did not come back within {ANSWER_SECONDS:g} seconds; {_last_time()}."
        return failure(sentence, WORKER_FIX)
    return ok(f"A task came back after {seconds:.1f} seconds.")


def index() -> Finding:
    """What is not indexed yet costs the next question time; nothing is lost."""
    waiting = n_unindexed()
    if waiting > MANY_WAITING:
        return warning(f"{waiting} messages wait to be indexed.", WORKER_FIX)
    return ok(f"{waiting} {'message waits' if waiting == 1 else 'messages wait'} to be indexed.")


def encoder() -> Finding:
    try:
        name = embedder_name()
    except EmbedderFailed as error:
        return failure(f"The encoder does not work: {error}", ENCODER_FIX)
    return ok(f"{name} encodes." if name else "None: older lines are found by their words.")


def _wait_for(name: str) -> float | None:
    began = time.monotonic()
    while (passed := time.monotonic() - began) < ANSWER_SECONDS:
        if WorkerSign.objects.filter(name=name, at__isnull=False).exists():
            return passed
        time.sleep(LOOK_SECONDS)
    return None


def _last_time() -> str:
    newest = WorkerSign.objects.filter(at__isnull=False).order_by("-at").first()
    if newest is None or newest.at is None:
        return "the worker has never done one"
    return f"the worker last did one {timesince(newest.at)} ago"


def schedule() -> Finding:
    """Beat's own sign: the sweep that it asks for once a minute."""
    sign = WorkerSign.objects.filter(name=tasks.SCHEDULE_SIGN).first()
    if sign is None or sign.at is None:
        return warning("Nothing scheduled has run yet: normal in the first minute.", WORKER_FIX)
    if timezone.now() - sign.at > SCHEDULE_LATE:
        return warning(f"Scheduled work last ran {timesince(sign.at)} ago.", WORKER_FIX)
    return ok("Scheduled work runs.")


async def channel_layer() -> Finding:
    """A message to a group and back, through a layer of its own made as the pages' is."""
    from redis.exceptions import RedisError  # late: no server without Redis need load its client

    layer = channel_layers.make_backend("default")
    group, said = f"check.{uuid.uuid4().hex}", {"type": "check", "text": uuid.uuid4().hex}
    try:
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        began = time.monotonic()
        await layer.group_send(group, said)
        heard = await layer.receive(channel)
        seconds = time.monotonic() - began
        await layer.flush()
    except (OSError, RedisError) as error:
        return failure(f"Live updates do not pass ({type(error).__name__}).", REDIS_FIX)
    if heard != said:
        return failure("Live updates arrive changed.", REDIS_FIX)
    within = "between all processes" if settings.REDIS_URL else "within this process"
    return ok(f"Live updates pass {within}, in {seconds * 1000:.0f} ms.")
