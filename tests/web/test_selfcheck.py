"""The self-check: what it finds, what it says of it, and that nothing holds it up."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from chat import tasks
from chat.library import ensure_sample_library
from chat.models import LibraryFolder, User, WorkerSign
from chat.providers.models import discovery
from chat.selfcheck import background, house, readiness, services, storage
from chat.selfcheck.findings import (
    Check,
    Finding,
    in_thread,
    ok,
    run_checks,
    verdict,
    warning,
    worst_first,
)
from chat.services import close_services
from chat.wiring import secrets_in_use
from scripts.lib.ports import free_port
from tests.servers.model_script import fail, say
from tests.servers.search import Row, searxng_answer
from tests.servers.web import web_server

pytestmark = pytest.mark.django_db(transaction=True)


def found(ask: Callable[[], Any]) -> Finding:
    """What an asynchronous check finds, in a loop of its own."""

    async def asked() -> Finding:
        try:
            return await ask()
        finally:
            await close_services()

    return asyncio.run(asked())


@pytest.fixture
def worker_answers(settings: Any) -> Iterator[None]:
    """A worker in the shape of a thread: whatever is asked is done at once."""
    from lumina.celery import app

    app.conf.task_always_eager = True
    yield
    app.conf.task_always_eager = False


# --- The list ------------------------------------------------------------------------------------


async def fine() -> Finding:
    return ok("Fine.")


async def broken() -> Finding:
    raise RuntimeError("the password is hunter22")


async def stuck() -> Finding:
    return await in_thread(lambda: time.sleep(5))  # type: ignore[func-returns-value]


async def test_findings_come_in_the_order_of_the_checks_and_no_fault_stops_the_others() -> None:
    checks = [Check(subject=a.__name__, ask=a, seconds=1, fix="Mend it.") for a in (broken, fine)]
    first, second = await run_checks(checks)
    assert (first.subject, first.level, first.fix) == ("broken", "failure", "Mend it.")
    assert "RuntimeError" in first.sentence
    assert "hunter22" not in str(first)
    assert second == Finding("ok", "Fine.", subject="fine")


async def test_checks_run_at_the_same_time_and_a_stuck_one_is_left_behind() -> None:
    checks = [Check(subject=str(n), ask=stuck, seconds=0.3, fix="Wait.") for n in range(5)]
    began = time.monotonic()
    assert {one.sentence for one in await run_checks(checks)} == {"No answer within 0.3 seconds."}
    assert time.monotonic() - began < 2


async def test_no_secret_is_in_a_text() -> None:
    async def talkative() -> Finding:
        return warning("hunter22 was refused", "Change hunter22 of a")

    check = Check(subject="x", ask=talkative, seconds=1, fix="")
    told = (await run_checks([check], secrets=["hunter22", "", "a"]))[0]
    assert (told.sentence, told.fix) == ("••• was refused", "Change ••• of a")


def test_keys_and_passwords_in_addresses_are_secrets(settings: Any) -> None:
    settings.LUMINA_TAVILY_KEY = "tvly-1"
    settings.LUMINA_SEARXNG_URL = "http://me:pass-2@searx"
    settings.REDIS_URL = "redis://:pass-3@host:6379/0"
    assert {"tvly-1", "pass-2", "pass-3", settings.SECRET_KEY} <= set(secrets_in_use())


def test_the_verdict_counts() -> None:
    bad, odd = Finding("failure", ""), Finding("warning", "")
    assert verdict([ok("")]) == "Everything works."
    assert verdict([bad, odd, odd]) == "1 failure and 2 warnings."
    assert verdict([odd]) == "1 warning."
    assert worst_first([ok(""), odd, bad]) == [bad, odd, ok("")]


# --- Storage -------------------------------------------------------------------------------------


def test_the_database_is_named_with_its_version() -> None:
    told = storage.database()
    assert told.level == "ok"
    name = "SQLite 3." if connection.vendor == "sqlite" else "PostgreSQL 1"
    assert name in told.sentence


@pytest.mark.skipif(connection.vendor == "sqlite", reason="a file cannot be out of reach")
def test_a_database_server_that_is_away_is_told_with_the_reason(monkeypatch: Any) -> None:
    monkeypatch.setitem(connection.settings_dict, "PORT", str(free_port()))
    told = storage.database()
    assert (told.level, told.fix) == ("failure", storage.DATABASE_FIX)
    assert "refused" in told.sentence


def test_a_database_that_cannot_be_written_to_is_a_failure(monkeypatch: Any) -> None:
    def refused() -> None:
        from django.db import OperationalError

        raise OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(storage, "_write_nothing", refused)
    told = storage.database()
    assert told.level == "failure"
    assert "the right to write" in told.fix


def test_pending_migrations_are_named_with_the_command() -> None:
    from django.db.migrations.recorder import MigrationRecorder

    assert storage.migrations().level == "ok"
    rows = MigrationRecorder.Migration.objects.filter(app="chat")
    kept = rows.latest("name")
    rows.filter(pk=kept.pk).delete()
    try:
        told = storage.migrations()
    finally:
        kept.save(force_insert=True)
    assert told.level == "failure"
    assert f"chat {kept.name}" in told.sentence
    assert told.fix == "python manage.py migrate"


@pytest.mark.parametrize(
    ("seconds", "level", "words"),
    [
        (0.4, "ok", "agree"),
        (-3, "warning", "3 seconds behind"),
        (60, "failure", "60 seconds ahead"),
    ],
)
def test_clocks_apart_are_told(seconds: float, level: str, words: str) -> None:
    told = storage.clock_finding(timedelta(seconds=seconds))
    assert told.level == level
    assert words in told.sentence
    assert storage.clock().level == "ok"


@pytest.mark.parametrize(("free_bytes", "level"), [(5e9, "ok"), (5e8, "warning"), (5e7, "failure")])
def test_a_full_disk_is_told_before_it_is_full(free_bytes: float, level: str) -> None:
    assert storage.disk_finding(Path("/x"), int(free_bytes)).level == level


# --- The house -----------------------------------------------------------------------------------

LOCAL = ("localhost", "127.0.0.1", "[::1]")


@pytest.mark.parametrize(
    ("bind", "hosts", "https", "debug", "level", "fix"),
    [
        ("127.0.0.1", LOCAL, False, False, "ok", ""),
        ("127.0.0.1", LOCAL, False, True, "ok", ""),
        ("0.0.0.0", LOCAL, False, False, "warning", "LUMINA_HOSTS"),
        ("0.0.0.0", (*LOCAL, "lumina.home"), False, False, "warning", "LUMINA_HTTPS=on"),
        ("0.0.0.0", (*LOCAL, "lumina.home"), True, False, "ok", ""),
        ("127.0.0.1", (*LOCAL, "lumina.example"), True, False, "ok", ""),
        ("127.0.0.1", (*LOCAL, "lumina.example"), True, True, "failure", "LUMINA_DEBUG=off"),
        ("0.0.0.0", ("*",), True, False, "warning", "LUMINA_HOSTS"),
    ],
)
def test_the_address_and_the_hosts_must_fit(
    bind: str, hosts: tuple[str, ...], https: bool, debug: bool, level: str, fix: str
) -> None:
    told = house.addresses_finding(bind, hosts, https=https, debug=debug)
    assert told.level == level
    assert fix in told.fix


def test_secrets_that_others_can_read_are_told_with_the_command(tmp_path: Path) -> None:
    key, database = tmp_path / "secret_key", tmp_path / "lumina.sqlite3"
    key.touch(0o600)
    database.touch(0o644)
    tmp_path.chmod(0o700)
    assert house.secret_files_finding(tmp_path, database).level == "ok"
    tmp_path.chmod(0o755)
    told = house.secret_files_finding(tmp_path, database)
    assert (told.level, told.fix) == ("warning", f"chmod 700 {tmp_path}")
    key.chmod(0o640)
    told = house.secret_files_finding(tmp_path, database)
    assert (told.level, told.fix) == ("failure", f"chmod 600 {key}")


def test_missing_static_files_are_told_with_the_command(settings: Any, tmp_path: Path) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "lumina.static.ModuleManifestStaticFilesStorage"},
    }
    settings.STATIC_ROOT = tmp_path
    told = house.static_files()
    assert (told.level, told.fix) == ("failure", house.COLLECT)
    call_command("collectstatic", "--noinput", "-v", "0")
    from django.contrib.staticfiles.storage import staticfiles_storage

    staticfiles_storage._wrapped = type(staticfiles_storage._wrapped)()
    assert house.static_files().level == "ok"
    next(tmp_path.glob("css/base.*.css")).unlink()
    assert "css/base.css" in house.static_files().sentence


def test_settings_that_do_not_fit_are_told_with_their_hint(settings: Any) -> None:
    assert house.settings_together().level == "ok"
    settings.LUMINA_MODEL_URL = "http://127.0.0.1:1/v1"
    told = house.settings_together()
    assert told.level == "failure"
    assert "LUMINA_MODEL" in told.fix


# --- Background ----------------------------------------------------------------------------------


def test_a_worker_that_does_its_task_is_well(worker_answers: None) -> None:
    told = background.worker()
    assert told.level == "ok"
    assert WorkerSign.objects.get().name == tasks.ANSWER_SIGN


def test_a_worker_that_does_nothing_is_told_with_when_it_last_did(monkeypatch: Any) -> None:
    monkeypatch.setattr(background, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(tasks.answer_check, "apply_async", lambda *a, **k: None)
    assert "has never done one" in background.worker().sentence
    WorkerSign.objects.create(name="answer", at=timezone.now() - timedelta(hours=2, minutes=1))
    told = background.worker()
    assert told.level == "failure"
    assert "2\xa0hours, 1\xa0minute ago" in told.sentence
    assert "celery -A lumina worker" in told.fix
    assert WorkerSign.objects.count() == 1


def test_a_queue_out_of_reach_is_told(settings: Any, monkeypatch: Any) -> None:
    def out_of_reach(*args: Any, **kwargs: Any) -> None:
        from kombu.exceptions import OperationalError

        raise OperationalError("Error 111 connecting")

    monkeypatch.setattr(background.queue, "n_waiting", out_of_reach)
    monkeypatch.setattr(tasks.answer_check, "apply_async", out_of_reach)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    for told in (background.broker(), background.worker()):
        assert (told.level, told.fix) == ("failure", background.REDIS_FIX)


def test_the_queue_says_how_much_waits() -> None:
    from chat.queue import n_waiting

    before = n_waiting()
    tasks.answer_check.apply_async(["nobody"])
    assert n_waiting() == before + 1
    assert background.broker().level == "ok"


def test_work_that_beat_asks_for_leaves_a_sign() -> None:
    assert background.schedule().level == "warning"
    tasks.sweep_runs()
    assert background.schedule().level == "ok"
    WorkerSign.objects.update(at=timezone.now() - timedelta(minutes=10))
    assert "10\xa0minutes ago" in background.schedule().sentence


def test_live_updates_make_a_round_trip() -> None:
    assert found(background.channel_layer).level == "ok"


def test_live_updates_that_cannot_pass_are_a_failure(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    backend = "channels_redis.pubsub.RedisPubSubChannelLayer"
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": backend, "CONFIG": {"hosts": [f"redis://127.0.0.1:{free_port()}"]}}
    }
    check = Check(subject="x", ask=background.channel_layer, seconds=4, fix="")
    told = asyncio.run(run_checks([check]))[0]
    assert told.level == "failure"
    assert "Live updates do not pass" in told.sentence


# --- Services ------------------------------------------------------------------------------------


def test_a_model_that_answers_is_well(model: Any) -> None:
    server = model([say("Yes.")])
    assert found(services.model).sentence.startswith("scripted answers")
    assert server.bodies[-1]["max_tokens"] == 1


def test_a_model_that_the_server_does_not_list_is_told_with_those_it_does(model: Any) -> None:
    model([], models=["qwen", "llama"])
    told = found(services.model)
    assert told.level == "failure"
    assert "qwen, llama" in told.fix


def test_a_refused_key_and_a_server_that_is_away_are_told(settings: Any, model: Any) -> None:
    model([fail(401, {"error": {"message": "bad key"}})])
    assert "key" in found(services.model).sentence
    settings.LUMINA_MODEL_URL = f"http://127.0.0.1:{free_port()}/v1"
    told = found(services.model)
    assert told.level == "failure"
    assert "LUMINA_MODEL_URL" in told.fix


def test_without_a_model_each_address_that_was_tried_is_told_with_the_reason(
    settings: Any, monkeypatch: Any
) -> None:
    assert found(services.model).fix == services.ADD_A_MODEL
    settings.LUMINA_MODEL_DISCOVERY = True
    port = free_port()

    async def look() -> discovery.Discovery:
        return await discovery.look_for_models(["127.0.0.1"], [("Ollama", port)])

    monkeypatch.setattr(services, "look_for_models", look)
    told = found(services.model)
    assert told.level == "warning"
    assert f"Ollama at http://127.0.0.1:{port}/v1: nobody listens" in told.sentence


def test_a_model_that_was_found_is_asked(settings: Any, monkeypatch: Any, model: Any) -> None:
    server = model([say("Yes.")])
    settings.LUMINA_MODEL_URL = settings.LUMINA_MODEL = ""
    settings.LUMINA_MODEL_DISCOVERY = True

    async def look() -> discovery.Discovery:
        return discovery.Discovery(discovery.FoundModel(server.url, "scripted", "Ollama"), ())

    monkeypatch.setattr(services, "look_for_models", look)
    assert f"It was found at {server.url}." in found(services.model).sentence


def test_an_engine_is_asked_for_real(settings: Any) -> None:
    with web_server() as site:
        site.routes["/search"] = searxng_answer([Row()])
        settings.LUMINA_SEARXNG_URL = site.url
        assert found(lambda: services.search("searxng")).sentence.startswith("1 result in")
        site.routes["/search"] = searxng_answer([])
        assert found(lambda: services.search("searxng")).level == "failure"


def test_an_engine_without_its_key_says_how_to_use_it() -> None:
    told = found(lambda: services.search("tavily"))
    assert (told.level, told.fix) == ("ok", "To use it, set the key LUMINA_TAVILY_KEY.")


def test_an_engine_that_was_set_up_must_answer_and_a_free_one_should(settings: Any) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    settings.LUMINA_SEARXNG_URL = settings.LUMINA_WIKIPEDIA_URL = away
    assert found(lambda: services.search("searxng")).level == "failure"
    assert found(lambda: services.search("wikipedia")).level == "warning"


def test_the_library_is_counted_and_a_folder_that_is_gone_is_told(alice: User) -> None:
    assert services.library().level == "warning"
    ensure_sample_library()
    assert "documents in 1 folder." in services.library().sentence
    LibraryFolder.objects.create(owner=alice, path="/not/there")
    assert "/not/there" in services.library().sentence


# --- Doors ---------------------------------------------------------------------------------------


def test_the_command_prints_a_list_and_ends_badly_when_something_fails(
    worker_answers: None, settings: Any
) -> None:
    ensure_sample_library()
    out = StringIO()
    call_command("check_lumina", "--json", stdout=out)
    levels = {one["subject"]: one["level"] for one in json.loads(out.getvalue())}
    assert levels["Database"] == levels["Worker"] == levels["Live updates"] == "ok"
    settings.LUMINA_MODEL_URL = f"http://127.0.0.1:{free_port()}/v1"
    settings.LUMINA_MODEL = "m"
    out = StringIO()
    with pytest.raises(CommandError, match="Model"):
        call_command("check_lumina", stdout=out)
    assert "✗ Model" in out.getvalue()
    assert "→ Start the model's server" in out.getvalue()


def test_the_page_asks_nobody_until_its_button_is_pressed(
    alice: User, browser_of: Callable[[User], Client], model: Any, worker_answers: None
) -> None:
    server = model([say("Yes.")])
    client = browser_of(alice)
    assert "Check now" in client.get("/check/").content.decode()
    assert not server.requests
    html = client.post("/check/").content.decode()
    assert "scripted answers" in html
    assert 'class="finding is-' in html


def test_only_operators_find_the_page(
    alice: User, charlie: User, browser_of: Callable[[User], Client]
) -> None:
    for method in ("get", "post"):
        assert getattr(browser_of(charlie), method)("/check/").status_code == 404
        assert getattr(Client(), method)("/check/").status_code == 302
    assert 'href="/check/"' in browser_of(alice).get("/").content.decode()
    assert 'href="/check/"' not in browser_of(charlie).get("/").content.decode()


def test_a_server_that_cannot_take_requests_says_why_without_details(monkeypatch: Any) -> None:
    assert Client().get("/readyz").json() == {"ready": True, "reasons": []}

    class Away:
        def cursor(self) -> None:
            from django.db import OperationalError

            raise OperationalError("connection to 10.0.0.7 refused for user lumina")

    monkeypatch.setattr(storage, "connection", Away())
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert "Database: The database does not answer." in response.json()["reasons"]
    assert "10.0.0.7" not in response.content.decode()
    assert Client().get("/healthz").status_code == 200


def test_readiness_leaves_no_thread_behind() -> None:
    asyncio.run(run_checks(readiness()))
    deadline = time.monotonic() + 5
    while any(one.name == "self-check" for one in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_encoder_that_is_not_there_is_a_failure_with_a_fix(settings: Any) -> None:
    settings.LUMINA_EMBEDDER = "none"
    assert background.encoder().level == "ok"
    settings.LUMINA_EMBEDDER = "endpoint"
    settings.LUMINA_EMBEDDER_URL = ""
    told = background.encoder()
    assert (told.level, told.fix) == ("failure", background.ENCODER_FIX)


def test_the_index_says_how_much_waits() -> None:
    assert background.index().level == "ok"
