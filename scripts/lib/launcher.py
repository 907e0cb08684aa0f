"""scripts/run: from a bare clone to a served page, and a clean end."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.lib import environment, ports, processes
from scripts.lib.signals import Signals, StopRequested
from scripts.lib.steps import ROOT, StepFailed, Steps

START_SECONDS = 60.0
GRACE_SECONDS = 8.0  # the server closes its sockets within 5 by itself
WORKER_IS_WELL_SECONDS = 60.0
LONGEST_DELAY_SECONDS = 60.0


class CannotRun(Exception):
    """Lumina cannot be started or has ended by itself; the text is for the person."""


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    signals = Signals()
    steps = Steps(signals)
    var = Path(os.environ.get("LUMINA_VAR") or ROOT / "var").expanduser().resolve()
    try:
        with _only_one(var) as card:
            python = environment.ensure(steps, environment.RUNTIME)
            house = House(python, var, options.host, steps, signals)
            house.run(card, options.port, open_browser=not options.no_browser)
    except StopRequested:
        steps.say("Stopped before Lumina was up.")
        return 130
    except (CannotRun, StepFailed, ports.NoPort) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/run", description="Start Lumina from this folder and open it in a browser."
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="8000, or the next free one when it is taken"
    )
    parser.add_argument(
        "--host",
        default=os.environ.get("LUMINA_BIND") or "127.0.0.1",
        help="the address to listen on (default: LUMINA_BIND, or this machine only)",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    options = parser.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        parser.error("--port must be a number from 0 (any free one) to 65535")
    return options


@contextmanager
def _only_one(var: Path) -> Iterator[Path]:
    """Keeps a second start away from the same data; yields the card that says who runs here."""
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    card = var / "run.json"
    descriptor = os.open(card, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not environment.locked(descriptor):
            raise CannotRun(_already_runs(var, card))
        card.write_text("")
        yield card
        card.write_text("")
    finally:
        os.close(descriptor)


def _already_runs(var: Path, card: Path) -> str:
    text = card.read_text()
    where = f" at {json.loads(text)['url']}" if text else ""
    return (
        f"Lumina already runs{where} with the data in {var}.\n"
        "Stop it first, or set LUMINA_VAR to another folder for a second one. A new sign-in link: "
        f"{environment.PYTHON} manage.py signin_link"
    )


class House:
    """One Lumina: its server and its background worker over one data folder."""

    def __init__(self, python: Path, var: Path, host: str, steps: Steps, signals: Signals) -> None:
        self.python = python
        self.var = var
        self.host = host
        self.steps = steps
        self.signals = signals
        self.logs = var / "log"
        self.logs.mkdir(exist_ok=True)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.env = {**os.environ, "LUMINA_VAR": str(var), "LUMINA_BIND": host}

    def run(self, card: Path, port: int, *, open_browser: bool) -> None:
        """Serve until a person stops it. Raises CannotRun when the server ends by itself."""
        try:
            with ports.listen(self.host, port) as listener:
                found = listener.getsockname()[1]
                if found != port != 0:
                    self.steps.say(f"Port {port} is taken; using {found}.")
                url = ports.base_url(self.host, found)
                link = self._prepare(url)
                self._start_server(listener.fileno())
            worker = Worker(self, url)
            self._wait_for_answer(url)
            card.write_text(json.dumps({"pid": os.getpid(), "url": url}))
            self._welcome(url, link, open_browser)
            while True:
                self._check_server()
                worker.watch(time.monotonic())
                self.signals.pause(0.2)
        except StopRequested:
            self.steps.say("Stopping … (Ctrl-C again does not wait for the worker's task)")
        finally:
            self._stop()
        self.steps.say("Stopped.")

    def _prepare(self, url: str) -> str:
        """Bring the data in order and return a sign-in link."""
        digest = _static_digest()
        stamp = self.var / "static.sha256"
        current = stamp.exists() and stamp.read_text() == digest
        static = [] if current else ["collectstatic --noinput --clear -v 0"]
        link = shlex.join(["signin_link", "--base", url])
        commands = ["migrate -v 0", *static, "prepare", link]
        printed = self.steps.run(
            "Getting database, static files and library ready",
            [self.python, "-m", "scripts.lib.commands", *commands],
            env=self.env,
        )
        stamp.write_text(digest)
        lines = printed.splitlines()
        for said in lines:
            if said and not said.startswith(url):
                self.steps.say(said)
        return next(line for line in reversed(lines) if line.startswith(url))

    def _start_server(self, descriptor: int) -> None:
        command: list[str | Path] = [self.python, "-m", "scripts.lib.serve", str(descriptor)]
        self.start("server", command, pass_fds=[descriptor])

    def start(
        self, name: str, command: Sequence[str | Path], pass_fds: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a part of the house; its output goes to a log of its own, the last one is kept."""
        log = self.log(name)
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        with log.open("wb") as output:
            process = processes.start(
                command, env=self.env, cwd=ROOT, output=output, pass_fds=pass_fds
            )
        self._running[name] = process
        return process

    def _stop(self) -> None:
        asked = self.signals.count
        processes.stop(
            list(self._running.values()),
            grace_seconds=GRACE_SECONDS,
            hurry=lambda: self.signals.count > asked,
        )

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def end_of(self, name: str) -> str:
        return f"The end of {self.log(name)}:\n{processes.tail(self.log(name))}"

    def _check_server(self) -> None:
        server = self._running["server"]
        if server.poll() is not None:
            raise CannotRun(f"The server ended by itself ({_how(server)}). {self.end_of('server')}")

    def _wait_for_answer(self, url: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not ports.answers(url):
            self._check_server()
            if time.monotonic() > deadline:
                raise CannotRun(
                    f"The server gave no answer in {START_SECONDS:.0f} s. {self.end_of('server')}"
                )
            self.signals.pause(0.1)

    def _welcome(self, url: str, link: str, open_browser: bool) -> None:
        self.steps.say(
            f"\nLumina runs at {url}/\n"
            f"Sign in with this link, once, within 15 minutes:\n  {link}\n"
            f"Logs are in {self.logs}. Ctrl-C stops everything.\n"
        )
        if open_browser:
            self._open_browser(link)

    def _open_browser(self, link: str) -> None:
        if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ):
            return  # only a text browser could be found, which would take over the terminal
        subprocess.Popen(
            [sys.executable, "-m", "webbrowser", link],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the browser stays when Lumina stops
        )


class Worker:
    """The background worker: started again when it dies, a little later each time."""

    def __init__(self, house: House, url: str) -> None:
        self._house = house
        self._name = f"lumina-{url.rpartition(':')[2]}@%h"
        self._delay_seconds = 1.0
        self._last_end = ""
        self._start_at: float | None = None
        self._start()

    def watch(self, now: float) -> None:
        if self._process.poll() is None:
            if now - self._began > WORKER_IS_WELL_SECONDS:
                self._delay_seconds = 1.0
        elif self._start_at is None:
            self._report()
            self._start_at = now + self._delay_seconds
            self._delay_seconds = min(self._delay_seconds * 2, LONGEST_DELAY_SECONDS)
        elif now >= self._start_at:
            self._start()

    def _report(self) -> None:
        processes.stop([self._process], grace_seconds=0)  # whatever it left in its group
        end = self._house.end_of("worker")
        self._house.steps.say(
            f"The background worker ended by itself ({_how(self._process)}); it starts again in "
            f"{self._delay_seconds:.0f} s. {end if end != self._last_end else ''}".rstrip()
        )
        self._last_end = end  # the same end is told once

    def _start(self) -> None:
        var = self._house.var
        pid_file = var / "worker.pid"
        pid_file.unlink(missing_ok=True)  # ours alone, and the last owner is gone
        command: list[str | Path] = [self._house.python, "-m", "celery", "-A", "lumina", "worker"]
        command += ["--beat", "--schedule", var / "beat-schedule", "--pidfile", pid_file]
        command += ["--pool", "threads", "--concurrency", "2", "--hostname", self._name]
        command += ["--without-mingle", "--without-gossip", "--loglevel", "INFO"]
        self._process = self._house.start("worker", command)
        self._began = time.monotonic()
        self._start_at = None


def _how(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"


def _static_digest() -> str:
    """A hash of all that static files are made of: ours, and the packages that bring some."""
    folders = [ROOT / "static", *(app.parent / "static" for app in ROOT.glob("*/apps.py"))]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    files += [ROOT / environment.RUNTIME, ROOT / "lumina" / "static.py"]
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
