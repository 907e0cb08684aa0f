"""scripts/test: the checks, then the suite on SQLite, then on PostgreSQL with Redis."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scripts.lib import checks, chromium, environment, processes
from scripts.lib.signals import Signals, StopRequested
from scripts.lib.steps import ROOT, StepFailed, Steps

PARTS = ("checks", "sqlite", "postgres")
PYTEST_GRACE_SECONDS = 20.0


def main(arguments: list[str]) -> int:
    options, pytest_arguments = _options(arguments)
    signals = Signals()
    steps = Steps(signals)
    try:
        python = environment.ensure(steps, environment.DEVELOPMENT)
        if Path(sys.prefix) != environment.VENV:
            # The services need packages of the environment: go on in it.
            os.execv(python, [str(python), str(ROOT / "scripts" / "test"), *arguments])
        with _scratch() as scratch:
            return Suite(python, scratch, steps, signals).run(options.only, pytest_arguments)
    except StopRequested:
        steps.say("Stopped.")
        return 130
    except StepFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 1


def _options(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        usage="scripts/test [--only PART] [pytest arguments]",
        description="Run the checks and all tests, with services and a browser of their own. "
        "What this does not know goes to pytest, as in: scripts/test tests/core -k stream",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="run this part alone; may be repeated"
    )
    return parser.parse_known_args(arguments)


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder for all that a run writes; other users (PostgreSQL's) may pass through it."""
    folder = Path(tempfile.mkdtemp(prefix="lumina-test-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Suite:
    """One run of scripts/test."""

    def __init__(self, python: Path, scratch: Path, steps: Steps, signals: Signals) -> None:
        self._python = python
        self._scratch = scratch
        self._steps = steps
        self._signals = signals
        self._results: list[tuple[str, bool, float]] = []

    def run(self, only: list[str] | None, pytest_arguments: list[str]) -> int:
        parts = [part for part in PARTS if not only or part in only]
        browser = self._browser() if parts != ["checks"] else {}
        if "checks" in parts:
            self._part("Checks", self._checks)
        if "sqlite" in parts:
            env = self._env("sqlite") | browser
            self._part("Suite on SQLite", lambda: self._pytest(pytest_arguments, env))
        if "postgres" in parts:
            env = self._env("postgres") | browser
            self._part("Suite on PostgreSQL", lambda: self._on_postgres(pytest_arguments, env))
        return self._summary()

    def _part(self, title: str, action: Callable[[], bool]) -> None:
        self._steps.say(f"\n== {title}")
        began = time.monotonic()
        self._results.append((title, action(), time.monotonic() - began))

    def _summary(self) -> int:
        self._steps.say("\n== Summary")
        for title, well, seconds in self._results:
            self._steps.say(f"{title:<22} {'well' if well else 'FAILED':<8} {seconds:6.1f} s")
        return 0 if all(well for _, well, _ in self._results) else 1

    def _browser(self) -> dict[str, str]:
        """Where the browser tests find Chromium. Without one they are skipped, but not in CI."""
        found = chromium.find_or_bring(self._steps)
        if found:
            return {"LUMINA_CHROMIUM": str(found)}
        self._steps.say("No Chromium was found and none could be brought: no browser tests.")
        self._results.append(("Chromium", "CI" not in os.environ, 0.0))
        return {}

    def _env(self, name: str) -> dict[str, str]:
        folder = self._scratch / name
        temporary = folder / "tmp"
        temporary.mkdir(parents=True)
        return checks.clean_env(folder / "var") | {"TMPDIR": str(temporary)}

    def _checks(self) -> bool:
        return checks.run(self._steps, self._python, self._env("checks"))

    def _on_postgres(self, arguments: list[str], env: Mapping[str, str]) -> bool:
        from tests import services  # needs packages of the environment

        try:
            with ExitStack() as running:
                folder = self._scratch / "services"
                database_url = running.enter_context(services.postgres(folder / "postgres"))
                redis_url = running.enter_context(services.redis(folder / "redis"))
                addresses = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
                return self._pytest(arguments, {**env, **addresses})
        except services.ServiceFailed as failure:
            self._steps.say(str(failure))
            return False

    def _pytest(self, arguments: list[str], env: Mapping[str, str]) -> bool:
        """Run pytest in the foreground: it has the terminal, and hears Ctrl-C itself."""
        command = processes.tethered([self._python, "-m", "pytest", *arguments])
        with subprocess.Popen(command, env=env, cwd=ROOT) as process:
            try:
                while process.poll() is None:
                    self._signals.pause(0.1)
            except StopRequested:
                self._end(process)
                raise
        return process.returncode == 0

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Let pytest take its servers down; they end with it in any case."""
        heard_itself = self._signals.last == signal.SIGINT and os.isatty(0)
        if not heard_itself:  # a second one would cut its tidying short
            process.send_signal(signal.SIGINT)
        try:
            process.wait(PYTEST_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
