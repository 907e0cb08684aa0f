"""The files of docs/DEPLOY.md: what they say is there, and what they start works."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.lib import ports, processes
from scripts.lib.checks import clean_env
from scripts.lib.steps import ROOT
from tests.lumina_server import OFFLINE, own_services

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
DEPLOY = (ROOT / "docs/DEPLOY.md").read_text()
UNITS = {path.name: path.read_text() for path in (ROOT / "docs/deploy").glob("*.service")}


def test_no_secret_is_in_the_files() -> None:
    secret = re.compile(r"^\s*\w*(?:PASSWORD|SECRET|KEY|TOKEN)\w*[:=]\s*(\S+)", re.MULTILINE)
    for path in ("docker-compose.yml", "Dockerfile", *("docs/deploy/" + name for name in UNITS)):
        for value in secret.findall((ROOT / path).read_text()):
            assert value.startswith("${"), f"{path}: {value}"
    assert "://lumina:${POSTGRES_PASSWORD:?" in (ROOT / "docker-compose.yml").read_text()


def test_every_service_is_watched_limited_and_comes_back() -> None:
    for name, service in COMPOSE["services"].items():
        if name == "prepare":
            continue
        assert service["restart"] == "unless-stopped", name
        assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}, name
        assert service["logging"]["options"]["max-size"], name
        assert "healthcheck" in service or name == "searxng"


def test_the_image_runs_without_rights_and_writes_to_its_volume_alone() -> None:
    assert re.search(r"^USER 10001", DOCKERFILE, re.MULTILINE)
    assert "install -d -m 700 -o lumina -g lumina /data" in DOCKERFILE
    for name in ("prepare", "web", "worker"):
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["volumes"] == ["data:/data"]


def test_all_that_the_image_copies_is_there_and_let_through() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert names
    for name in names:
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored


def test_all_packages_of_ours_are_in_the_image() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert all(re.search(rf"^COPY {name} ", DOCKERFILE, re.MULTILINE) for name in packages)


def test_every_file_that_the_page_names_is_there() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", DEPLOY):
        assert (ROOT / "docs" / target).exists(), target


# --- What they start ----------------------------------------------------------------------------


def _own(command: str | list[str], var: Path, port: int) -> list[str]:
    """A command of the files with this machine's Python, folder and port."""
    words = shlex.split(command) if isinstance(command, str) else command
    words = [re.sub(r"^/(data|var/lib/lumina)(?=/|$)", str(var), word) for word in words]
    words = [str(port) if word == "8000" else word.replace(":8000/", f":{port}/") for word in words]
    first, *rest = words
    if first == "celery":
        return [sys.executable, "-m", "celery", *rest]
    assert Path(first).name == "python"
    return [sys.executable, *rest]


def _of_compose() -> Mapping[str, Any]:
    services = COMPOSE["services"]
    web = re.search(r"^CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    assert web
    return {
        "prepare": services["prepare"]["command"],
        "web": yaml.safe_load(web.group(1)),
        "worker": services["worker"]["command"],
    }


def _of_systemd() -> Mapping[str, Any]:
    def value(unit: str, name: str) -> str:
        found = re.search(rf"^{name}=(.+)$", UNITS[unit], re.MULTILINE)
        assert found
        return found.group(1)

    return {
        "prepare": value("lumina-web.service", "ExecStartPre"),
        "web": value("lumina-web.service", "ExecStart"),
        "worker": value("lumina-worker.service", "ExecStart"),
    }


@pytest.mark.processes
@pytest.mark.timeout(180)
@pytest.mark.parametrize("commands", [_of_compose(), _of_systemd()], ids=["compose", "systemd"])
def test_the_processes_come_up_and_find_everything_well(
    commands: Mapping[str, Any], tmp_path: Path
) -> None:
    port = ports.free_port()
    env = {**clean_env(tmp_path), **OFFLINE, **own_services()}
    own = {name: _own(command, tmp_path, port) for name, command in commands.items()}
    subprocess.run(own["prepare"], env=env, cwd=ROOT, check=True)
    with (tmp_path / "output.log").open("ab") as output:
        running = [
            processes.start(own[name], env=env, cwd=ROOT, output=output)
            for name in ("web", "worker")
        ]
    try:
        probe = _own(COMPOSE["services"]["web"]["healthcheck"]["test"][1:], tmp_path, port)
        _until_well(probe, env)
        _until_well([sys.executable, "manage.py", "check_lumina"], env)
        if "REDIS_URL" in env:
            _until_well(_worker_probe(), env)
    finally:
        processes.stop(running, grace_seconds=15)
        sys.stderr.write(processes.tail(tmp_path / "output.log", 40))


def _worker_probe() -> list[str]:
    """The worker's health check; a container's HOSTNAME is its host's name."""
    test = COMPOSE["services"]["worker"]["healthcheck"]["test"][1]
    host = socket.gethostname()
    return [sys.executable, "-m", *shlex.split(test.replace("$$HOSTNAME", host))]


def _until_well(command: list[str], env: Mapping[str, str]) -> None:
    deadline = time.monotonic() + 60
    while True:
        done = subprocess.run(
            command, env=env, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return
        assert time.monotonic() < deadline, done.stdout + done.stderr
        time.sleep(0.3)
