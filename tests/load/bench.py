"""How many answers one server process can stream at once, measured from outside.

Four processes on one machine: a model server that writes stamped tokens (30 a second and stream),
Lumina, a client with 1,000 open pages, and this one, which only watches. The streams are raised
step by step until the 99th percentile of the added delay passes a second, or to the end of the
list; then the first step is measured again, to see that everything recovers.

A delay is the time from a token's writing by the model server until a page has it. "Alone" is the
same read from the model server directly by the same client, so the difference is what Lumina adds.
Every token is counted: a lost, doubled or reordered one and a gap in `seq` would be seen.

    scripts/bench_load [--streams 25,50,100] [--sockets 1000] [--seconds 10] [--postgres] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from scripts.lib.steps import ROOT
from tests import services
from tests.load.stamps import now_ms
from tests.lumina_server import LuminaServer, Template

STREAMS = "25,50,100,150,200,250,300,350,400"
RATE = 30
BENDS_AT_MS = 1_000
OPEN_FILES = 8_192
SEED = """
from chat.models import Conversation, User
owner = User.objects.order_by("pk").first()
made = [Conversation.objects.create(owner=owner, title="Open page").pk for _ in range({n})]
print(made)
"""


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(OPEN_FILES, hard)), hard))
    with ExitStack() as stack:
        stage = Stage(stack, postgres=options.postgres)
        opened = stage.open_pages(options.sockets)
        told = {
            "machine": _machine(),
            "database": stage.database,
            "pid": stage.server.process.pid,
            "opened": opened,
            "steps": [],
        }
        _say(options.json, _headline(told))
        for streams in _steps(options.streams):
            step = stage.step(streams, options.seconds)
            told["steps"].append(step)
            _say(options.json, _row(step))
            if step["p99"] - step["alone_p99"] > BENDS_AT_MS:
                break
        again = stage.step(_steps(options.streams)[0], options.seconds)
        told["again"] = again
        _say(options.json, f"{_row(again)}   (again, after the last step)")
    if options.json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    return 0 if all(_is_whole(step) for step in [*told["steps"], again]) else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench_load")
    parser.add_argument("--streams", default=STREAMS, help="the steps, separated by commas")
    parser.add_argument("--sockets", type=int, default=1_000, help="pages that are open")
    parser.add_argument("--seconds", type=float, default=10.0, help="of all streams together")
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL and Redis, not SQLite")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def _steps(listed: str) -> list[int]:
    return [int(part) for part in listed.split(",")]


class Stage:
    """All processes, started; each ends with the stack."""

    def __init__(self, stack: ExitStack, *, postgres: bool) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lumina-load-")))
        folder.chmod(0o711)
        self.database = "PostgreSQL and Redis" if postgres else "SQLite"
        if postgres:
            os.environ["DATABASE_URL"] = stack.enter_context(services.postgres(folder / "pg"))
            os.environ["REDIS_URL"] = stack.enter_context(services.redis(folder / "redis"))
        upstream = stack.enter_context(_child("tests.load.upstream"))
        self._upstream = int(upstream.stdout.readline())
        template = Template.make(folder)
        self.server = LuminaServer(
            {
                **template.copy(folder / "server"),
                "LUMINA_MODEL_URL": f"http://127.0.0.1:{self._upstream}/v1",
                "LUMINA_MODEL": "load",
            }
        )
        self.server.start()
        stack.callback(self.server.stop)
        self._pages = stack.enter_context(_child("tests.load.pages"))

    def open_pages(self, n_sockets: int) -> dict[str, Any]:
        made = self.server.manage("shell", "-v", "0", "-c", SEED.format(n=n_sockets))
        cookies = self.server.client().cookies.items()
        before = _rss_mb(self.server.process.pid)
        opened = self._wish(
            do="open",
            url=f"{self.server.url.replace('http', 'ws')}/ws/",
            origin=self.server.url,
            cookie="; ".join(f"{name}={value}" for name, value in cookies),
            conversations=json.loads(made.splitlines()[-1]),
        )
        self.idle_mb = _rss_mb(self.server.process.pid)
        return {**opened, "mb_before": before, "mb_after": self.idle_mb}

    def step(self, streams: int, seconds: float) -> dict[str, Any]:
        wish = {"streams": streams, "seconds": seconds, "rate": RATE}
        alone = self._wish(do="direct", port=self._upstream, **wish)
        with Watch(self.server.process.pid) as watch:
            heard = self._wish(do="ask", **wish)
        used = watch.between(*heard["window"])
        return {
            "streams": streams,
            **heard,
            "alone_p50": alone["p50"],
            "alone_p99": alone["p99"],
            "cpu_percent": used,
            "cpu_seconds_a_stream": round(watch.cpu_seconds / streams, 3),
            "mb": watch.most_mb,
            "mb_a_stream": round((watch.most_mb - self.idle_mb) / streams, 2),
            "load_average": os.getloadavg()[0],
        }

    def _wish(self, **wish: Any) -> dict[str, Any]:
        self._pages.stdin.write(json.dumps(wish) + "\n")
        self._pages.stdin.flush()
        return json.loads(self._pages.stdout.readline())


class Watch:
    """Looks at a process twice a second: its processor time and its memory."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._looks: list[tuple[int, float, float]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        over = False
        while not over:
            self._looks.append((now_ms(), _cpu_seconds(self._pid), _rss_mb(self._pid)))
            over = self._over.wait(0.5)
        self._looks.append((now_ms(), _cpu_seconds(self._pid), _rss_mb(self._pid)))

    @property
    def cpu_seconds(self) -> float:
        return self._looks[-1][1] - self._looks[0][1]

    @property
    def most_mb(self) -> float:
        return max(look[2] for look in self._looks)

    def between(self, began: int, ended: int) -> int | None:
        """Percent of one core while all streams went on."""
        looks = [look for look in self._looks if began <= look[0] <= ended]
        if len(looks) < 2:
            return None
        return round((looks[-1][1] - looks[0][1]) / (looks[-1][0] - looks[0][0]) * 100_000)


@contextmanager
def _child(module: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "at": time.strftime("%H:%M"),
    }


def _is_whole(step: Mapping[str, Any]) -> bool:
    return not (step["lost"] or step["reordered"] or step["gaps"] or step["failed"])


def _headline(told: Mapping[str, Any]) -> str:
    opened, machine = told["opened"], told["machine"]
    grown = (opened["mb_after"] - opened["mb_before"]) * 1024 / opened["open"]
    return (
        f"{machine['cores']} cores, load average {machine['load_average']:.1f} before. "
        f"{told['database']}, process {told['pid']}. "
        f"{opened['open']:,} pages opened in {opened['ms'] / 1000:.1f} s, "
        f"{grown:.0f} KB each; {opened['mb_after']:.0f} MB.\n"
        "streams |  p50 alone |  p99 alone |      p50 |      p99 |      max | server CPU | CPU s a "
        "stream | MB a stream | lost | reordered | gaps | failed | load average"
    )


def _row(step: Mapping[str, Any]) -> str:
    return (
        f"{step['streams']:7} | {step['alone_p50']:7} ms | {step['alone_p99']:7} ms "
        f"| {step['p50']:5} ms | {step['p99']:5} ms | {step['max']:5} ms "
        f"| {step['cpu_percent']!s:>8} % | {step['cpu_seconds_a_stream']:14} "
        f"| {step['mb_a_stream']:11} "
        f"| {step['lost']:4} | {step['reordered']:9} | {step['gaps']:4} | {step['failed']:6} "
        f"| {step['load_average']:.1f}"
    )


def _say(as_json: bool, text: str) -> None:
    print(text, file=sys.stderr if as_json else sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
