"""The two commands of the README: how they start, how they end, what they leave behind."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from scripts.lib import advisories, checks, environment, oldest, ports, processes, steps
from scripts.lib.checks import clean_env
from tests.lumina_server import OFFLINE, own_services

ROOT = environment.ROOT
PROGRAMS = ("run", "test", "check")


# --- Before anything starts --------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_old_python_is_told_so_in_one_sentence(program):
    pretend = (
        "import runpy, sys; sys.version_info = (3, 9, 2); "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-c", pretend, str(ROOT / "scripts" / program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Lumina needs Python 3.11 or newer")
    assert "3.9.2" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", [*PROGRAMS, "lib/oldest.py"])
def test_what_an_old_python_reads_is_written_for_it(path):
    ast.parse((ROOT / "scripts" / path).read_text(), feature_version=(3, 6))


def test_a_python_without_venv_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(environment, "PYTHON", Path("/nowhere/python"))
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(steps.StepFailed, match="apt install python3-venv"):
        environment._make(steps.Steps(steps.Signals.__new__(steps.Signals)))


def test_the_oldest_python_is_the_one_of_the_project():
    wanted = ".".join(map(str, oldest.OLDEST))
    assert f'requires-python = ">={wanted}"' in (ROOT / "pyproject.toml").read_text()


def test_a_wrong_setting_is_shown_without_its_traceback():
    output = "Traceback …\n  File …\ndjango…ImproperlyConfigured: Mend these:\n  LUMINA_WEB: 'x'\n"
    assert steps.explained(output) == "  Mend these:\n    LUMINA_WEB: 'x'"


# --- Ports -------------------------------------------------------------------------------------


def test_a_taken_port_gives_the_next_free_one():
    with ports.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with ports.listen("127.0.0.1", port) as other:
            assert port < other.getsockname()[1] < port + ports.PORTS_TRIED


def test_an_address_of_another_machine_is_refused_with_a_sentence():
    with pytest.raises(ports.NoPort, match=r"Cannot listen on 192\.0\.2\.1, port 8000"):
        ports.listen("192.0.2.1", 8000)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("lumina.lan", "http://lumina.lan:80"),
    ],
)
def test_the_link_leads_to_where_the_server_is_reached(host, url):
    assert ports.base_url(host, 80) == url


# --- Processes ---------------------------------------------------------------------------------


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(condition, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(os.getpid(), child, flush=True)
time.sleep(60)
"""


def started(tmp_path: Path, program: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = processes.start(
            [sys.executable, "-c", program], env=os.environ, cwd=tmp_path, output=output
        )
    assert wait_until(lambda: log.read_text().endswith("\n"))
    return process, [int(pid) for pid in log.read_text().split()]


def test_a_stubborn_process_and_its_children_end_by_force(tmp_path):
    process, pids = started(tmp_path, STUBBORN)
    processes.stop([process], grace_seconds=0.3)
    assert wait_until(lambda: not any(map(alive, pids)))


def test_a_second_request_to_stop_does_not_wait(tmp_path):
    process, _ = started(tmp_path, STUBBORN)
    began = time.monotonic()
    processes.stop([process], grace_seconds=30, hurry=lambda: time.monotonic() - began > 0.2)
    assert time.monotonic() - began < 5


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that we are gone")
def test_a_child_ends_when_its_parent_is_killed(tmp_path):
    parent = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from scripts.lib import processes
child = processes.start(["sleep", "60"], env={{}}, cwd=Path("/"), output=sys.stderr.buffer)
print(child.pid, flush=True)
time.sleep(60)
"""
    process, (child,) = started(tmp_path, parent)
    assert alive(child)
    process.kill()
    process.wait()
    assert wait_until(lambda: not alive(child))


# --- scripts/run, for real ---------------------------------------------------------------------


class Launch:
    """A `scripts/run` that is under way, and what it has printed so far."""

    def __init__(self, var: Path, arguments: tuple[str, ...], settings: dict[str, str]) -> None:
        self.var = var
        self._printed = var.with_name(f"{var.name}-{time.monotonic_ns()}.out")
        self.began = time.monotonic()
        with self._printed.open("wb") as output:
            self.process = subprocess.Popen(
                [ROOT / "scripts" / "run", "--no-browser", *arguments],
                env={**clean_env(var), **OFFLINE, **settings},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def printed(self) -> str:
        return self._printed.read_text()

    @property
    def url(self) -> str:
        return re.search(r"Lumina runs at (\S+[^/])/", self.printed).group(1)

    def wait_for(self, text: str, seconds: float = 60) -> None:
        over = lambda: text in self.printed or self.process.poll() is not None  # noqa: E731
        wait_until(over, seconds)
        assert text in self.printed, self.printed

    def children(self) -> list[int]:
        found = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(pid) for pid in Path(found).read_text().split()]

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def launch(tmp_path) -> Iterator:
    if not environment._installed(environment.RUNTIME):
        pytest.skip("This checkout has no .venv of its own yet: start the tests with scripts/test")
    launched: list[Launch] = []

    def start(*arguments: str, var: Path = tmp_path / "var", **settings: str) -> Launch:
        launched.append(Launch(var, arguments, settings))
        return launched[-1]

    yield start
    for one in launched:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
on_sqlite = pytest.mark.skipif(
    bool(os.environ.get("DATABASE_URL")), reason="has nothing to do with the database"
)


@on_linux
@pytest.mark.processes
def test_it_serves_prints_a_link_and_ctrl_c_leaves_nothing(launch):
    with ports.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        run = launch("--port", str(port), **own_services())
        run.wait_for("Ctrl-C stops everything")
        assert f"Port {port} is taken; using" in run.printed
        assert ports.answers(run.url)
    assert run.url in run.printed.partition("Sign in with this link")[2]

    children = run.children()
    assert len(children) == 2  # the server and the worker
    assert wait_until((run.var / "worker.pid").exists)
    assert run.end(signal.SIGINT) == 0
    assert run.printed.endswith("\nStopped.\n")
    assert not any(map(alive, children))
    assert not ports.answers(run.url)


@on_linux
@on_sqlite
@pytest.mark.processes
def test_a_second_start_is_quick_and_repeats_nothing(launch):
    first = launch("--port", "0")
    first.wait_for("Ctrl-C stops everything")
    collected = (first.var / "static" / "staticfiles.json").stat().st_mtime_ns
    assert first.end(signal.SIGTERM) == 0

    second = launch("--port", "0")
    second.wait_for("Ctrl-C stops everything")
    assert time.monotonic() - second.began < 20  # about 3 on a quiet machine
    assert (second.var / "static" / "staticfiles.json").stat().st_mtime_ns == collected
    assert "Installing" not in second.printed
    assert second.end() == 0


@on_linux
@on_sqlite
@pytest.mark.processes
def test_one_folder_serves_once_and_two_folders_serve_side_by_side(launch, tmp_path):
    run = launch("--port", "0")
    run.wait_for("Ctrl-C stops everything")

    again = launch("--port", "0")
    assert again.process.wait(30) == 1
    assert f"Lumina already runs at {run.url}" in again.printed

    beside = launch("--port", "0", var=tmp_path / "another")
    beside.wait_for("Ctrl-C stops everything")
    assert ports.answers(run.url)
    assert ports.answers(beside.url)


@on_linux
@on_sqlite
@pytest.mark.processes
def test_a_worker_that_died_starts_again_and_a_dead_server_ends_all(launch):
    run = launch("--port", "0")
    run.wait_for("Ctrl-C stops everything")
    server, worker = run.children()

    os.killpg(worker, signal.SIGKILL)
    run.wait_for("The background worker ended by itself (killed by signal 9)", 10)
    assert wait_until(lambda: len(run.children()) == 2)
    assert run.process.poll() is None

    os.killpg(server, signal.SIGKILL)
    assert run.process.wait(30) == 1
    assert "The server ended by itself (killed by signal 9)" in run.printed


@on_sqlite
@pytest.mark.processes
def test_a_wrong_setting_stops_the_start_with_its_hint(launch):
    run = launch("--port", "0", LUMINA_MAX_STEPS="many")
    assert run.process.wait(60) == 1
    assert "LUMINA_MAX_STEPS: 'many' must be a whole number of 1 or more." in run.printed
    assert "Traceback" not in run.printed


# --- Advisories ---------------------------------------------------------------------------------


def test_a_known_hole_is_told_with_the_version_that_mends_it() -> None:
    row = {"name": "x", "version": "1", "vulns": [{"id": "GHSA-1", "fix_versions": ["1.1"]}]}
    report = advisories.read(json.dumps({"dependencies": [row]}))
    assert report.holes == ("x 1: GHSA-1, mended in 1.1",)


def test_an_index_without_advisories_is_not_taken_for_good_news() -> None:
    row = {"name": "x", "skip_reason": "Dependency not found on PyPI and could not be audited"}
    report = advisories.read(json.dumps({"dependencies": [row]}))
    assert (report.holes, report.unknown, report.n_known) == ((), ("x",), 0)


@pytest.mark.parametrize("printed", ["", "Traceback", "[]", "{}", "null"])
def test_what_is_no_report_is_none(printed: str) -> None:
    assert advisories.read(printed) is None


def test_what_could_not_be_checked_is_said_aloud(monkeypatch) -> None:
    said: list[str] = []

    class Quiet:
        def run(self, title: str, command: object, env: object) -> str:
            return f"{advisories.NOT_CHECKED}: no network." if title == "Advisories" else ""

        def say(self, text: str) -> None:
            said.append(text)

    assert checks.run(Quiet(), Path(sys.executable), {})
    assert said == ["!! NOT CHECKED: no network."]
