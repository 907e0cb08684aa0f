"""Many processes that write to one SQLite file through Lumina's own store, all at once.

    scripts/bench_writers [--writers 50] [--seconds 10] [--json]

Each begins runs and adds their events, as a server does. SQLite lets one write at a time; what is
measured is that the others wait their turn, how long, and that none is told "database is locked".
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.lib.steps import ROOT
from tests.lumina_server import Template

# Made by a fork each, so that 50 do not load the program 50 times.
WRITERS = """
import json, multiprocessing, os, sys, time
import django
django.setup()
from django.db import DatabaseError, connections
from chat import store
from chat.agent.events import StepStarted, TextAdded
from chat.models import User

def write(owner, start, seconds, told):
    start.wait()
    until = time.monotonic() + seconds
    taken, faults, number = [], [], 0
    while time.monotonic() < until:
        number += 1
        try:
            ask = store.Ask(client_id=f"{os.getpid()}-{number}", text="Why does ice float?")
            run, _ = store.begin_run(owner, ask)
            for step in range(5):
                began = time.monotonic()
                events = [StepStarted(step + 1), TextAdded("Ice floats. " * 5)]
                store.append_events(run.pk, 2 * step, events)
                taken.append(time.monotonic() - began)
            store.interrupt(run.pk)
        except DatabaseError as error:
            faults.append(str(error))
    told.put((taken, faults))

n_writers, seconds = int(sys.argv[1]), float(sys.argv[2])
owner = User.objects.order_by("pk").first()
connections.close_all()
fork = multiprocessing.get_context("fork")
start, told = fork.Barrier(n_writers), fork.Queue()
writers = [
    fork.Process(target=write, args=(owner, start, seconds, told)) for _ in range(n_writers)
]
for writer in writers:
    writer.start()
print(json.dumps([told.get() for _ in writers]))
"""


def measured(n_writers: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="lumina-writers-") as folder:
        env = Template.make(Path(folder)).copy(Path(folder) / "data")
        env["DJANGO_SETTINGS_MODULE"] = "lumina.settings"
        done = subprocess.run(
            [sys.executable, "-c", WRITERS, str(n_writers), str(seconds)],
            env=env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    told = json.loads(done.stdout)
    taken = sorted(one for of_writer, _ in told for one in of_writer)
    faults = [fault for _, of_writer in told for fault in of_writer]
    return {
        "writers": n_writers,
        "transactions": len(taken),
        "a_second": round(len(taken) / seconds),
        "p50_ms": round(taken[len(taken) // 2] * 1_000, 1),
        "p99_ms": round(taken[int(len(taken) * 0.99)] * 1_000, 1),
        "max_ms": round(taken[-1] * 1_000, 1),
        "least": min(len(of_writer) for of_writer, _ in told),
        "faults": sorted(set(faults)),
        "n_faults": len(faults),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench_writers")
    parser.add_argument("--writers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    told = measured(options.writers, options.seconds)
    sys.stdout.write(
        json.dumps(told, indent=1) + "\n"
        if options.json
        else "\n".join(f"{name:13} {value}" for name, value in told.items()) + "\n"
    )
    return 1 if told["n_faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
