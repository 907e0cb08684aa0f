"""Real Lumina servers for tests: each a process with a data folder and a database of its own.

A migrated template is made once a session and copied for each server, so that one is up in about
a second. Nothing here uses the ORM: the database belongs to the server's process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import psycopg

from scripts.lib import ports, processes
from scripts.lib.checks import clean_env
from scripts.lib.steps import ROOT

READY_SECONDS = 30.0
OFFLINE = {"LUMINA_WEB": "off", "LUMINA_MODEL_DISCOVERY": "off"}
# Tests ask faster than people, and all as the same person.
OFFLINE |= dict.fromkeys(
    ("LUMINA_ASKS_PER_MINUTE", "LUMINA_SEARCHES_PER_MINUTE", "LUMINA_DOOR_TRIES"), "0"
)
NUMBERS = count(1)
# Each ends with the option that takes the number of an open socket.
PROGRAMS = {
    "uvicorn": ["scripts.lib.serve"],
    "daphne": ["daphne", "lumina.asgi:application", "-v", "0", "--fd"],
}


class ServerFailed(AssertionError):
    """A server or one of its commands did not do what it must; the text holds its output."""


@dataclass(frozen=True, slots=True)
class Template:
    """A data folder and a database as they are right after the first start."""

    var: Path
    env: Mapping[str, str]

    @classmethod
    def make(cls, folder: Path) -> Template:
        var = folder / "template"
        var.mkdir()
        env = {**clean_env(var), **OFFLINE, **own_services()}
        commands = ("migrate -v 0", "collectstatic --noinput -v 0", "prepare")
        _run(env, "-m", "scripts.lib.commands", *commands)
        return cls(var, env)

    def copy(self, folder: Path) -> dict[str, str]:
        """The environment of a server of its own in `folder`, which must not exist yet."""
        shutil.copytree(self.var, folder, ignore=lambda top, names: {"static"} & set(names))
        (folder / "static").symlink_to(self.var / "static")
        env = {**self.env, "LUMINA_VAR": str(folder)}
        if "DATABASE_URL" in env:
            env["DATABASE_URL"] = _new_database(env["DATABASE_URL"], copied=True)
        if "REDIS_URL" in env:
            env["LUMINA_REDIS_PREFIX"] = _unused_name()
        return env


class LuminaServer:
    """A server process over a data folder that outlives it: kill it, start it again."""

    def __init__(self, env: Mapping[str, str], program: str = "uvicorn") -> None:
        self.env = dict(env)
        self._program = program
        self.var = Path(env["LUMINA_VAR"])
        self.log = self.var / "server.log"
        self.port = 0
        self._clients: list[httpx.Client] = []
        self.process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, **env: str) -> None:
        """Start, or start again on the same port and data, with settings added; wait for it."""
        self.env |= env
        with ports.listen("127.0.0.1", self.port) as listener, self.log.open("ab") as output:
            self.port = listener.getsockname()[1]
            command = [sys.executable, "-m", *PROGRAMS[self._program], str(listener.fileno())]
            self.process = processes.start(
                command, env=self.env, cwd=ROOT, output=output, pass_fds=[listener.fileno()]
            )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not ports.answers(self.url):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(f"The server is not up:\n{processes.tail(self.log, 60)}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a crash would: no chance to tidy up."""
        processes.stop([self.process], grace_seconds=0)

    def stop(self) -> None:
        """End it as an operator would."""
        for client in self._clients:
            client.close()
        processes.stop([self.process], grace_seconds=10)

    def restart(self, **env: str) -> None:
        self.stop()
        self.start(**env)

    def manage(self, *arguments: str) -> str:
        """What a manage.py command prints over this server's data. Raises ServerFailed."""
        return _run(self.env, "manage.py", *arguments)

    def sign_in_link(self) -> str:
        printed = self.manage("signin_link", "--base", self.url)
        return re.search(r"https?://\S+", printed).group()

    def client(self) -> httpx.Client:
        """An HTTP client that is signed in as the owner; it is closed when the server stops."""
        client = httpx.Client(base_url=self.url, follow_redirects=True, timeout=20)
        self._clients.append(client)
        page = client.get(urlsplit(self.sign_in_link()).path).raise_for_status()
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text).group(1)
        action = re.search(r'<form[^>]*\baction="([^"]*)"', page.text)
        target = urljoin(str(page.url), action.group(1) if action else "")
        client.post(
            target, data={"csrfmiddlewaretoken": token}, headers={"Referer": str(page.url)}
        ).raise_for_status()
        return client


def running(template: Template, folder: Path) -> Iterator:
    """The body of the `lumina_server` fixture: yields what starts servers, and ends them all."""
    servers: list[LuminaServer] = []

    def start(program: str = "uvicorn", **env: str) -> LuminaServer:
        own = template.copy(folder / f"server-{len(servers) + 1}")
        server = LuminaServer({**own, **env}, program)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()
        sys.stderr.write(f"{server.log}:\n{processes.tail(server.log, 60)}\n")


def own_services() -> dict[str, str]:
    """A new, empty database and a part of Redis; nothing where the suite runs on SQLite."""
    if not os.environ.get("DATABASE_URL"):
        return {}
    return {
        "DATABASE_URL": _new_database(os.environ["DATABASE_URL"]),
        "REDIS_URL": os.environ["REDIS_URL"],
        "LUMINA_REDIS_PREFIX": _unused_name(),
    }


def _unused_name() -> str:
    return f"lumina_{os.getpid()}_{next(NUMBERS)}"


def _new_database(url: str, *, copied: bool = False) -> str:
    """The address of a new database on the same PostgreSQL server, empty or a copy of `url`'s."""
    name = _unused_name()
    source = urlsplit(url).path.lstrip("/") if copied else "template1"
    server = urlsplit(url)._replace(path="/postgres").geturl()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{source}"')
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _run(env: Mapping[str, str], *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerFailed(f"{' '.join(arguments)}:\n{done.stdout}{done.stderr}")
    return done.stdout
