"""Operating real servers: the self-check with a real worker, backup and restore."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.lib import processes
from scripts.lib.steps import ROOT
from tests.lumina_server import LuminaServer, ServerFailed

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def worker_of() -> Iterator[Callable[[LuminaServer], None]]:
    """Starts the background worker of a server, as scripts/run does."""
    started: list[subprocess.Popen[bytes]] = []

    def start(server: LuminaServer) -> None:
        command = [sys.executable, "-m", "celery", "-A", "lumina", "worker", "--pool", "threads"]
        command += ["--beat", "--schedule", str(server.var / "beat-schedule")]
        command += ["--concurrency", "1", "--without-mingle", "--without-gossip"]
        with (server.var / "worker.log").open("ab") as output:
            started.append(processes.start(command, env=server.env, cwd=ROOT, output=output))

    yield start
    processes.stop(started, grace_seconds=10)


def levels(server: LuminaServer) -> dict[str, str]:
    return {
        one["subject"]: one["level"] for one in json.loads(server.manage("check_lumina", "--json"))
    }


def test_the_self_check_knows_whether_a_worker_of_its_own_is_there(
    lumina_server: Any, worker_of: Callable[[LuminaServer], None]
) -> None:
    other, server = lumina_server(), lumina_server()
    worker_of(other)  # of another installation, perhaps on the same Redis
    with pytest.raises(ServerFailed, match="Not working: Worker"):
        levels(server)
    worker_of(server)
    for _ in range(5):
        try:
            found = levels(server)
            break
        except ServerFailed:
            continue
    assert found["Worker"] == found["Live updates"] == found["Queue"] == "ok"
    assert found["Database"] == found["Migrations"] == found["Static files"] == "ok"


def tables_in(file: Path) -> dict[str, str]:
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.startswith("tables/")]
        return {name: archive.read(name).decode() for name in names}


def test_what_was_backed_up_is_the_same_in_an_empty_installation(
    lumina_server: Any, tmp_path: Path
) -> None:
    old = lumina_server()
    answer = json.loads(old.manage("ask", "why does ice float?", "--json"))
    old.manage("backup", str(tmp_path / "first"))
    old.kill()
    new = lumina_server()
    new.manage("restore", str(tmp_path / "first"))
    new.manage("backup", str(tmp_path / "second"))
    tables = tables_in(tmp_path / "first")
    assert tables_in(tmp_path / "second") == tables
    assert len(tables["tables/chat.Citation.jsonl"].splitlines()) == 1 + len(answer["citations"])


def objects_in(log: Path) -> list[dict[str, Any]]:
    """The lines of a log that are JSON; a worker also prints its banner."""
    lines = log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_the_id_of_a_request_is_found_again_in_the_logs_of_web_and_worker(
    lumina_server: Any, worker_of: Callable[[LuminaServer], None]
) -> None:
    server = lumina_server(LUMINA_LOG_FORMAT="json")
    worker_of(server)
    client = server.client()
    for attempt in range(5):
        page = client.get("/check/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page).group(1)
        headers = {"X-Request-ID": f"req-end-to-end-{attempt}", "Referer": f"{server.url}/check/"}
        form = {"csrfmiddlewaretoken": token}
        answer = client.post("/check/", data=form, headers=headers)
        assert answer.headers["x-request-id"] == f"req-end-to-end-{attempt}"
        if "A task came back" in answer.text:
            break
    told = objects_in(server.var / "worker.log")
    done = [one for one in told if one.get("request") == f"req-end-to-end-{attempt}"]
    assert any("answer_check" in one["message"] for one in done), told
    assert all(line.startswith("{") for line in server.log.read_text().splitlines())
