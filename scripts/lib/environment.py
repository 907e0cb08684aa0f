"""The Python environment of a checkout: `.venv`, with the pinned requirements."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.lib.oldest import OLDEST
from scripts.lib.steps import ROOT, StepFailed, Steps, run_quietly

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
RUNTIME = "requirements.txt"
DEVELOPMENT = "requirements-dev.txt"


def ensure(steps: Steps, requirements: str) -> Path:
    """The environment's Python, made and filled first where that is needed.

    A file's hash is noted once it is installed, so that an unchanged one costs nothing and an
    installation that was cut short is done again.
    """
    with _alone(steps):
        if not _installed(requirements):
            _make(steps)
            _install(steps, requirements)
    return PYTHON


@contextmanager
def _alone(steps: Steps) -> Iterator[None]:
    """Two scripts of one checkout do not fill one environment at the same time."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        if not locked(folder):
            steps.say("Waiting for another script that prepares .venv …")
            while not locked(folder):
                steps.pause(0.5)
        yield
    finally:
        os.close(folder)


def locked(descriptor: int) -> bool:
    """Take the lock of an open file or folder, if nobody holds it. Closing it lets go."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _installed(requirements: str) -> bool:
    stamp = _stamp(requirements)
    return PYTHON.exists() and stamp.exists() and stamp.read_text() == _digest(requirements)


def _stamp(requirements: str) -> Path:
    return VENV / f".{requirements}.sha256"


def _digest(requirements: str) -> str:
    """The hash of a requirements file; the development one includes the other."""
    files = [RUNTIME] if requirements == RUNTIME else [RUNTIME, DEVELOPMENT]
    return hashlib.sha256(b"\0".join((ROOT / name).read_bytes() for name in files)).hexdigest()


def _make(steps: Steps) -> None:
    probe = f"import sys, pip; print(sys.version_info >= {OLDEST})"
    if run_quietly([PYTHON, "-c", probe]).strip() == "True":
        return
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        raise StepFailed(
            "Making .venv",
            f"{sys.executable} comes without the modules venv and ensurepip. "
            "On Debian and Ubuntu: sudo apt install python3-venv",
        )
    if VENV.exists():
        steps.say("The environment in .venv is broken or too old; making it anew.")
        shutil.rmtree(VENV)
    steps.run("Making .venv", [sys.executable, "-m", "venv", VENV])


def _install(steps: Steps, requirements: str) -> None:
    pip: list[str | Path] = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
    ]
    steps.run(f"Installing {requirements}", [*pip, "-r", ROOT / requirements])
    for name in (RUNTIME, requirements):
        _stamp(name).write_text(_digest(name))
