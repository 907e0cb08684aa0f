"""Whether what is installed has known holes: python -m scripts.lib.advisories

pip-audit asks the package index for advisories. One that has none to give (a mirror, or no network
at all) makes it say "No known vulnerabilities found" all the same; here that is told apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.lib.steps import ROOT

NOT_CHECKED = "NOT CHECKED"
SECONDS = 120
PROBE = "django"


@dataclass(frozen=True, slots=True)
class Report:
    """Known holes, one line each, and the packages of which nothing could be learned."""

    holes: tuple[str, ...]
    unknown: tuple[str, ...]
    n_known: int


def read(printed: str) -> Report | None:
    """What pip-audit printed as JSON; None when that is no report."""
    try:
        rows: list[dict[str, Any]] = json.loads(printed)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    holes = tuple(
        f"{row['name']} {row['version']}: {hole['id']}, mended in "
        f"{', '.join(hole['fix_versions']) or 'no version yet'}"
        for row in rows
        for hole in row.get("vulns", ())
    )
    unknown = tuple(row["name"] for row in rows if "skip_reason" in row)
    return Report(holes, unknown, len(rows) - len(unknown))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "probe.txt")
        file.write_text(_probe_pin())
        probe = _asked(["--no-deps", "--disable-pip", "-r", str(file)])
    if probe is None or not probe.n_known:
        print(f"{NOT_CHECKED}: no advisories can be asked for from here (pip-audit, PyPI).")
        return 0
    report = _asked([])
    if report is None:
        print(f"{NOT_CHECKED}: pip-audit did not come to an end.")
        return 0
    if report.unknown:
        print(f"{NOT_CHECKED}: nothing is known of {', '.join(report.unknown)}.")
    print("\n".join(report.holes) or f"{report.n_known} packages, no known holes.")
    return 1 if report.holes else 0


def _probe_pin() -> str:
    """The pin of a package that every index with advisories knows."""
    pins = (ROOT / "requirements.txt").read_text().splitlines()
    return next(line for line in pins if line.lower().startswith(f"{PROBE}=="))


def _asked(options: Sequence[str]) -> Report | None:
    command = [sys.executable, "-m", "pip_audit", "-f", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            [*command, "--timeout", "10", *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None
    return read(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
