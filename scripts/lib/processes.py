"""Child processes: each in a group of its own, and none left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

TETHER = Path(__file__).with_name("tether.py")


def tethered(command: Sequence[str | Path], uid: int | None = None) -> list[str]:
    """The command, held so that it ends with this process; `uid` only has a meaning for root."""
    tether = [sys.executable, "-S", str(TETHER), str(os.getpid())]
    user = ["--user", str(uid)] if uid is not None else []
    return [*tether, *user, *map(str, command)]


def start(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    cwd: Path,
    output: IO[bytes],
    uid: int | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a tethered command in a process group of its own."""
    return subprocess.Popen(
        tethered(command, uid),
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=pass_fds,
        process_group=0,
    )


def stop(
    processes: Sequence[subprocess.Popen[bytes]],
    *,
    grace_seconds: float,
    first: signal.Signals = signal.SIGTERM,
    hurry: Callable[[], bool] = lambda: False,
) -> None:
    """End each process and its group: kindly at first, by force after the grace."""
    deadline = time.monotonic() + grace_seconds
    for process in processes:
        if process.poll() is None:
            _signal_group(process, first)
    while any(process.poll() is None for process in processes):
        if time.monotonic() > deadline or hurry():
            break
        time.sleep(0.05)
    for process in processes:
        _signal_group(process, signal.SIGKILL)  # also what a dead leader left in its group
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def tail(log: Path, lines: int = 15) -> str:
    """The end of a log, indented, for a message to a person."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:])
