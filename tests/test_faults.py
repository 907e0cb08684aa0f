"""Processes that are killed at random moments: nothing is lost and every turn ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scripts.lib.steps import ROOT

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL"), reason="brings PostgreSQL and Redis of its own, once"
    ),
]


def test_nothing_is_lost_doubled_or_left_open_when_processes_are_killed() -> None:
    command = [sys.executable, "-m", "tests.faults.drill", "--runs", "10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing was lost" in done.stdout
