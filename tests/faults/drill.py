"""Kill one of the processes at a random moment, again and again, and see what becomes of the turns.

    scripts/faults [--runs 100] [--seed N] [--only web,worker,redis,postgres]

Real processes: PostgreSQL, Redis, a server, a worker, a model server. In each run a few pages ask,
one process is killed (SIGKILL) while their answers are written, and is started again a little
later. The pages connect again by themselves, as in a browser. Then, in the database and at the
pages:

- every question that was acknowledged is there, once, with one run and one answer
- every run has ended, and its page has heard how; none waits for ever
- `seq` runs from 1 without a gap, at the page too, and the last event is the end
- the text that is kept is what the model wrote, from its beginning, without a hole; all of it if
  the run is complete

Prints one line a run and a summary; exits with 1 if anything was not so.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg

from scripts.lib import processes
from scripts.lib.steps import ROOT
from tests import services
from tests.faults.pages import Page
from tests.lumina_server import LuminaServer, ServerFailed, Template
from tests.servers.model_server import ModelServer

VICTIMS = ("web", "worker", "redis", "postgres")
N_PAGES = 4
N_WORDS = 60
EVERY_SECONDS = 0.03
BACK_SECONDS = 90.0
END_SECONDS = 60.0
STATUSES = {"complete", "interrupted", "failed", "truncated", "stopped", "empty"}
WORDS = [f"w{number} " for number in range(N_WORDS)]


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    chance = random.Random(options.seed)
    with ExitStack() as stack:
        drill = Drill(stack)
        faults: list[str] = []
        counts: Counter[str] = Counter()
        for number in range(1, options.runs + 1):
            victim = options.only[(number - 1) % len(options.only)]
            result = asyncio.run(drill.run(victim, chance))
            counts.update(result.statuses)
            counts[f"killed {victim}"] += 1
            faults += [f"run {number}, {victim}: {fault}" for fault in result.faults]
            _say(f"{number:4} {result}")
        faults += drill.leftovers()
    _say(f"\n{options.runs} runs with seed {options.seed}: {dict(sorted(counts.items()))}")
    _say("\n".join(faults) or "Nothing was lost, doubled, left open or out of order.")
    return 1 if faults else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/faults")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(VICTIMS))
    return parser.parse_args(arguments)


class Result:
    """What one run of the drill has come to."""

    def __init__(self, victim: str, after: float, away: float) -> None:
        self.victim, self.after, self.away = victim, after, away
        self.seconds = 0.0
        self.statuses: list[str] = []
        self.faults: list[str] = []

    def __str__(self) -> str:
        end = "; ".join(self.faults) or "well"
        statuses = ", ".join(f"{n} {name}" for name, n in Counter(self.statuses).items())
        return (
            f"{self.victim:8} killed after {self.after:.2f} s, away for {self.away:.2f} s, "
            f"all ended after {self.seconds:4.1f} s: {statuses}: {end}"
        )


class Drill:
    """All processes, and what is done to them."""

    def __init__(self, stack: ExitStack) -> None:
        # One thread for all: a tethered process ends with the thread that has started it.
        self._hands = stack.enter_context(ThreadPoolExecutor(1))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lumina-faults-")))
        folder.chmod(0o711)
        self._postgres = services.postgres_server(folder / "postgres")
        self._postgres.start(services.postgres_answers)
        stack.callback(self._postgres.stop)
        self._redis = services.redis_server(folder / "redis")
        self._redis.start(services.redis_answers)
        stack.callback(self._redis.stop)
        os.environ["DATABASE_URL"] = services.postgres_url(self._postgres)
        os.environ["REDIS_URL"] = f"redis://127.0.0.1:{self._redis.port}/0"
        self._model = stack.enter_context(ModelServer())
        self._model.play({"when": ".", "reply": [{"text": WORDS, "every": EVERY_SECONDS}]})
        self._server = self._served(folder)
        stack.callback(self._server.stop)
        self._worker: subprocess.Popen[bytes] | None = None
        self._start_worker()
        stack.callback(self._kill_worker)
        self._cookie = self._signed_in()
        self._n_questions = 0

    def _served(self, folder: Path) -> LuminaServer:
        settings = {"LUMINA_MODEL_URL": self._model.url, "LUMINA_MODEL": "scripted"}
        server = LuminaServer({**Template.make(folder).copy(folder / "server"), **settings})
        server.start()
        return server

    def _signed_in(self) -> str:
        cookies = self._server.client().cookies.items()
        return "; ".join(f"{name}={value}" for name, value in cookies)

    # --- One run ----------------------------------------------------------------------------

    async def run(self, victim: str, chance: random.Random) -> Result:
        result = Result(victim, chance.uniform(0.0, 3.0), chance.uniform(0.1, 2.0))
        began = time.monotonic()
        pages = [self._page() for _ in range(N_PAGES)]
        asked = [asyncio.create_task(self._ask(page, chance.uniform(0, 1.5))) for page in pages]
        await asyncio.sleep(result.after)
        self._kill(victim)
        await asyncio.sleep(result.away)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._hands, self._bring_back, victim)
        _, waiting = await asyncio.wait(asked, timeout=END_SECONDS)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        result.seconds = time.monotonic() - began
        result.statuses = [page.status or "never ended" for page in pages]
        result.faults += [fault for page in pages for fault in self._faults_of(page)]
        return result

    async def _ask(self, page: Page, later_seconds: float) -> None:
        await asyncio.sleep(later_seconds)
        await page.answered()

    def _page(self) -> Page:
        self._n_questions += 1
        url = f"{self._server.url.replace('http', 'ws')}/ws/"
        return Page(url, self._server.url, self._cookie, f"Question {self._n_questions}?")

    # --- Killing and bringing back ----------------------------------------------------------

    def _kill(self, victim: str) -> None:
        {
            "web": self._server.kill,
            "worker": self._kill_worker,
            "redis": self._redis.kill,
            "postgres": self._postgres.kill,
        }[victim]()

    def _bring_back(self, victim: str) -> None:
        _patiently(
            {
                "web": self._start_web,
                "worker": self._start_worker,
                "redis": lambda: self._redis.start(services.redis_answers),
                "postgres": lambda: self._postgres.start(services.postgres_answers),
            }[victim]
        )

    def _start_web(self) -> None:
        try:
            self._server.start()
        except ServerFailed:
            self._server.kill()  # one that is only slow would hold the port
            raise

    def _start_worker(self) -> None:
        command = [sys.executable, "-m", "celery", "-A", "lumina", "worker", "--pool", "threads"]
        command += ["--concurrency", "1", "--without-mingle", "--without-gossip"]
        with (self._server.var / "worker.log").open("ab") as output:
            self._worker = processes.start(command, env=self._server.env, cwd=ROOT, output=output)

    def _kill_worker(self) -> None:
        if self._worker:
            processes.stop([self._worker], grace_seconds=0)

    # --- What must hold ---------------------------------------------------------------------

    def _faults_of(self, page: Page) -> list[str]:
        if page.status not in STATUSES:
            return [f"{page.question} {page.status or 'never ended'} (run {page.run})"]
        with psycopg.connect(self._server.env["DATABASE_URL"]) as connection:
            return [f"{page.question} {fault}" for fault in _faults(connection, page)]

    def leftovers(self) -> list[str]:
        """What is wrong with the whole when all is over."""
        with psycopg.connect(self._server.env["DATABASE_URL"]) as connection:
            running = _value(connection, "SELECT count(*) FROM chat_run WHERE status = 'running'")
            asked = _value(connection, "SELECT count(*) FROM chat_message WHERE role = 'user'")
            halves = _value(
                connection,
                "SELECT count(*) FROM chat_message m WHERE role = 'user' AND NOT EXISTS "
                "(SELECT 1 FROM chat_run WHERE question_id = m.id)",
            )
        found = [f"{running} runs are still running"] if running else []
        found += [f"{halves} questions without a run"] if halves else []
        if asked != self._n_questions:
            found.append(f"{self._n_questions} questions were asked, {asked} are there")
        return found


def _faults(connection: psycopg.Connection, page: Page) -> list[str]:
    faults = []
    runs = connection.execute(
        "SELECT r.id, r.status, r.last_seq, r.finished_at IS NOT NULL, q.text, a.text "
        "FROM chat_run r JOIN chat_message q ON q.id = r.question_id "
        "JOIN chat_message a ON a.id = r.answer_id WHERE client_id = %s",
        [page.client_id],
    ).fetchall()
    if len(runs) != 1:
        return [f"has {len(runs)} runs"]
    run, status, last_seq, is_over, question, text = runs[0]
    events = connection.execute(
        "SELECT seq, type, data FROM chat_runevent WHERE run_id = %s ORDER BY seq", [run]
    ).fetchall()
    if (run, status, question, is_over) != (page.run, page.status, page.question, True):
        faults.append(f"is {(run, status, question)}, the page has {(page.run, page.status)}")
    if [event[0] for event in events] != list(range(1, last_seq + 1)):
        faults.append(f"has events {[event[0] for event in events]} of {last_seq}")
    ends = [event[1] for event in events].count("run_finished")
    if ends != 1 or events[-1][1] != "run_finished":
        faults.append(f"ends {ends} times")
    if page.seqs != list(range(1, len(page.seqs) + 1)) or len(page.seqs) != last_seq:
        faults.append(f"was heard as {page.seqs}, not up to {last_seq}")
    whole = "".join(WORDS)
    if not whole.startswith(text) or (status == "complete" and text.split() != whole.split()):
        faults.append(f"keeps {text[-60:]!r} as {status}")
    told = "".join(event[2]["text"] for event in events if event[1] == "text_added")
    if told.split() != text.split():
        faults.append(f"told {len(told)} characters and keeps {len(text)}")
    return faults


def _value(connection: psycopg.Connection, query: str) -> Any:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def _patiently(start: Callable[[], None]) -> None:
    """A server that was killed may find its own children still there for a moment."""
    deadline = time.monotonic() + BACK_SECONDS
    while True:
        try:
            return start()
        except (services.ServiceFailed, AssertionError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
