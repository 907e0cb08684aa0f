"""scripts/check: linters, types, templates, migrations and layering, without the suite."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from scripts.lib import environment
from scripts.lib.advisories import NOT_CHECKED
from scripts.lib.signals import Signals, StopRequested
from scripts.lib.steps import ROOT, StepFailed, Steps

# Python without its ending
PROGRAMS = tuple(
    f"scripts/{name}"
    for name in (
        "run",
        "test",
        "check",
        "bench_latency",
        "bench_load",
        "bench_writers",
        "faults",
        "screenshot",
    )
)
PACKAGES = ("chat", "memory", "lumina", "scripts")


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(
        prog="scripts/check", description="Run the linters, types and layering tests."
    ).parse_args(arguments)
    steps = Steps(Signals())
    try:
        python = environment.ensure(steps, environment.DEVELOPMENT)
        with tempfile.TemporaryDirectory(prefix="lumina-check-") as var:
            return 0 if run(steps, python, clean_env(Path(var))) else 1
    except StopRequested:
        return 130
    except StepFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 1


def clean_env(var: Path) -> dict[str, str]:
    """The environment without a developer's own settings, and with a data folder apart."""
    own = ("DATABASE_URL", "REDIS_URL")
    kept = {k: v for k, v in os.environ.items() if k not in own and not k.startswith("LUMINA_")}
    return {**kept, "LUMINA_VAR": str(var)}


def run(steps: Steps, python: Path, env: Mapping[str, str]) -> bool:
    """Run every check, also after one has failed; whether all are well."""
    well = True
    for title, command in _checks(python):
        try:
            printed = steps.run(title, command, env=env)
            for line in printed.splitlines():
                if line.startswith(NOT_CHECKED):
                    steps.say(f"!! {line}")
        except StepFailed as failure:
            steps.say(f"{title}: FAILED\n{failure.output}")
            well = False
    return well


def _checks(python: Path) -> list[tuple[str, list[str | Path]]]:
    module: list[str | Path] = [python, "-m"]
    checks: list[tuple[str, list[str | Path]]] = [
        ("Linting", [*module, "ruff", "check", ".", *PROGRAMS]),
        ("Format", [*module, "ruff", "format", "--check", ".", *PROGRAMS]),
        ("Types", [*module, "mypy", *PACKAGES]),
        ("Migrations", [python, "manage.py", "makemigrations", "--check", "--dry-run"]),
        ("Advisories", [*module, "scripts.lib.advisories"]),
        ("Layering", [*module, "pytest", "-q", "tests/core/test_layering.py"]),
    ]
    if any((ROOT / "templates").rglob("*.html")):
        checks.append(("Templates", [*module, "djlint", "templates", "--lint"]))
        checks.append(("Indentation", [*module, "djhtml", "--check", "-t", "2", "templates"]))
    return checks
