"""Scripts that play on the stage of the browser tests: a real server, model and Chromium."""

from __future__ import annotations

import os
import subprocess
import sys

from scripts.lib import chromium, environment
from scripts.lib.signals import Signals, StopRequested
from scripts.lib.steps import ROOT, StepFailed, Steps


def main(name: str, arguments: list[str]) -> int:
    """Runs `tests.browser.NAME` in the environment of the tests, with a browser."""
    steps = Steps(Signals())
    try:
        python = environment.ensure(steps, environment.DEVELOPMENT)
        browser = chromium.find_or_bring(steps)
    except StopRequested:
        return 130
    except StepFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 1
    if browser is None:
        print("\nThere is no Chromium here; LUMINA_CHROMIUM can name one.", file=sys.stderr)
        return 1
    command = [str(python), "-m", f"tests.browser.{name}", *arguments]
    env = {**os.environ, "LUMINA_CHROMIUM": str(browser)}
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
