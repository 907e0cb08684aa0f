"""Operating real servers: the self-check with a real worker, backup and restore."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scripts.lib import processes
from scripts.lib.steps import ROOT
from tests.lumina_server import LuminaServer, ServerFailed

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def worker_of() -> Iterator[Callable[[LuminaServer], subprocess.Popen[bytes]]]:
    """Starts the background worker of a server, as scripts/run does."""
    started: list[subprocess.Popen[bytes]] = []

    def start(server: LuminaServer) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "lumina", "worker", "--pool", "threads"]
        command += ["--beat", "--schedule", str(server.var / "beat-schedule")]
        command += ["--concurrency", "1", "--without-mingle", "--without-gossip"]
        with (server.var / "worker.log").open("ab") as output:
            started.append(processes.start(command, env=server.env, cwd=ROOT, output=output))
        return started[-1]

    yield start
    processes.stop(started, grace_seconds=10)


def documents_in(server: LuminaServer, folder: Path) -> list[str]:
    """The paths of the documents that the library holds of a folder, read past the server."""
    query = (
        "SELECT d.path FROM chat_librarydocument d JOIN chat_libraryfolder f ON f.id = d.folder_id "
        f"WHERE f.path = '{folder}' ORDER BY d.path"
    )
    if url := server.env.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            return [row[0] for row in connection.execute(query)]
    with closing(sqlite3.connect(server.var / "lumina.sqlite3")) as file:
        return [row[0] for row in file.execute(query)]


def wait_until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_work_that_a_killed_worker_had_begun_is_done_again_and_once(
    lumina_server: Any, worker_of: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    server = lumina_server()
    names = [f"note-{number:03}.md" for number in range(300)]
    (folder / names[0]).write_text("The first.")
    server.manage("library", "add", str(folder))
    for name in names:
        (folder / name).write_text(f"# {name}\n\n" + f"Ice floats on water, says {name}. " * 150)
    scan = "from chat.tasks import scan_library; scan_library.delay()"
    first = worker_of(server)
    server.manage("shell", "-v", "0", "-c", scan)
    wait_until(lambda: len(documents_in(server, folder)) > 1)
    processes.stop([first], grace_seconds=0)
    half = documents_in(server, folder)
    assert 1 < len(half) < len(names)
    worker_of(server)
    server.manage("shell", "-v", "0", "-c", scan)  # as the schedule does every ten minutes
    wait_until(lambda: len(documents_in(server, folder)) == len(names))
    assert documents_in(server, folder) == names


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
