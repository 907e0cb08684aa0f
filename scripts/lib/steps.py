"""Steps of a script: each a command, its progress shown, its output kept for when it fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from scripts.lib import processes
from scripts.lib.signals import Signals

ROOT = Path(__file__).resolve().parents[2]
SPINNER = "|/-\\"
FIRST_WORD_SECONDS = 2.0
NEXT_WORD_SECONDS = 15.0


class StepFailed(Exception):
    """A step ended badly; `output` is all that its command printed."""

    def __init__(self, title: str, output: str) -> None:
        super().__init__(title)
        self.title = title
        self.output = output

    def __str__(self) -> str:
        return f"{self.title}: failed.\n{explained(self.output)}"


def explained(output: str, lines: int = 25) -> str:
    """What a person needs of a failed command's output: the plain sentence where there is one."""
    _, marker, sentence = output.rpartition("ImproperlyConfigured: ")
    chosen = sentence if marker else "\n".join(output.splitlines()[-lines:])
    return "\n".join(f"  {line}".rstrip() for line in chosen.strip("\n").splitlines())


class Steps:
    """Runs commands one after the other and tells how they get on."""

    def __init__(self, signals: Signals, out: IO[str] | None = None) -> None:
        self.pause = signals.pause
        self._out = out or sys.stdout

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def run(
        self,
        title: str,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
    ) -> str:
        """What the command printed. Raises StepFailed, or StopRequested after ending it."""
        progress = _Progress(title, self._out)
        with tempfile.TemporaryFile() as output:
            process = processes.start(command, env=env or os.environ, cwd=cwd, output=output)
            try:
                while process.poll() is None:
                    progress.show(output)
                    self.pause(0.05)
            finally:
                processes.stop([process], grace_seconds=5, first=signal.SIGINT)
                progress.clear()
            text = _read(output)
        if process.returncode:
            raise StepFailed(title, text)
        progress.done()
        return text


def run_quietly(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> str:
    """The output of a quick command, or an empty text where it failed or does not exist."""
    try:
        done = subprocess.run(
            [*map(str, command)], env=env, cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


class _Progress:
    """One line that turns on a terminal; a word now and then elsewhere."""

    def __init__(self, title: str, out: IO[str]) -> None:
        self._title = title
        self._out = out
        self._live = out.isatty() and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._next_word = FIRST_WORD_SECONDS

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def show(self, output: IO[bytes]) -> None:
        if self._live:
            width = shutil.get_terminal_size().columns
            sign = SPINNER[int(self._seconds * 8) % len(SPINNER)]
            line = f"{sign} {self._title} … {self._seconds:.0f} s  {_last_line(output)}"
            print(f"\r\x1b[2K{line[: width - 1]}", end="", file=self._out, flush=True)
        elif self._seconds > self._next_word:
            self._next_word = self._seconds + NEXT_WORD_SECONDS
            print(f"{self._title} … {self._seconds:.0f} s", file=self._out, flush=True)

    def clear(self) -> None:
        if self._live:
            print("\r\x1b[2K", end="", file=self._out, flush=True)

    def done(self) -> None:
        print(f"{self._title}: done in {self._seconds:.1f} s", file=self._out, flush=True)


def _read(output: IO[bytes]) -> str:
    output.seek(0)
    return output.read().decode(errors="replace")


def _last_line(output: IO[bytes]) -> str:
    """The newest full line, read without moving the place where the command writes."""
    end = os.fstat(output.fileno()).st_size
    text = os.pread(output.fileno(), 400, max(end - 400, 0)).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "")
