"""Scripts that measure or try real processes of their own, without a browser."""

from __future__ import annotations

import os
import subprocess
import sys

from scripts.lib import environment
from scripts.lib.signals import Signals, StopRequested
from scripts.lib.steps import ROOT, StepFailed, Steps


def main(module: str, arguments: list[str]) -> int:
    """Runs the module in the environment of the tests, without settings of one's own."""
    # What a program prints for other programs stays alone on its output.
    steps = Steps(Signals(), out=sys.stderr)
    try:
        python = environment.ensure(steps, environment.DEVELOPMENT)
    except StopRequested:
        return 130
    except StepFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 1
    own = ("DATABASE_URL", "REDIS_URL")
    env = {name: value for name, value in os.environ.items() if name not in own}
    command = [str(python), "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
