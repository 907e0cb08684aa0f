"""Finding a model server on this machine, among servers that are none."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from chat.providers.models.discovery import (
    CONTAINER_HOSTS,
    FoundModel,
    find_local_model,
    look_for_models,
    usual_hosts,
)
from tests.servers.model_server import ModelServer

HERE = ["127.0.0.1"]


@contextlib.contextmanager
def page(body: object, status: int = 200) -> Iterator[int]:
    """A server that gives one answer to everything; yields its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def listed(*ids: object, owner: str = "someone", kind: str = "list") -> dict:
    return {"object": kind, "data": [{"id": name, "owned_by": owner} for name in ids]}


def port_of(server: ModelServer) -> int:
    return int(server.url.split(":")[2].split("/")[0])


async def reason_at(port: int) -> str:
    discovery = await look_for_models(HERE, [("Some", port)])
    assert discovery.found is None
    return discovery.tried[0].reason


async def test_the_server_that_runs_is_found_among_those_that_do_not():
    with ModelServer(models=["qwen3:8b"]) as server:
        servers = [("Ollama", free_port()), ("vLLM", port_of(server))]
        discovery = await look_for_models(HERE, servers)
    assert discovery.found == FoundModel(server.url, "qwen3:8b", "vLLM")
    assert [tried.reason for tried in discovery.tried] == ["nobody listens", ""]
    assert str(servers[0][1]) in discovery.tried[0].url


async def test_the_first_of_several_wins_however_fast_they_are():
    with ModelServer(models=["one"]) as first, ModelServer(models=["two"]) as second:
        servers = [("A", port_of(first)), ("B", port_of(second))]
        for _ in range(3):
            assert await find_local_model(HERE, servers) == FoundModel(first.url, "one", "A")


@pytest.mark.parametrize(
    ("models", "chosen"),
    [
        (["nomic-embed-text", "zephyr", "whisper-1", "bge-m3", "mistral"], "mistral"),
        (["llava-vision", "qwen2.5-coder:7b", "qwen3:8b"], "qwen3:8b"),
        (["qwen2.5-coder:7b", "all-minilm:l6"], "qwen2.5-coder:7b"),
        (["B", "a"], "a"),
    ],
)
async def test_a_model_for_conversation_is_chosen(models: list[str], chosen: str):
    for order in (models, models[::-1]):
        with page(listed(*order)) as port:
            found = await find_local_model(HERE, [("Some", port)])
        assert found is not None
        assert found.model == chosen


@pytest.mark.parametrize(("owner", "server"), [("llamacpp", "llama.cpp"), ("vllm", "vLLM")])
async def test_a_server_on_a_port_of_another_is_called_by_its_own_name(owner: str, server: str):
    with page(listed("some", owner=owner)) as port:
        found = await find_local_model(HERE, [("LM Studio", port)])
    assert found is not None
    assert found.server == server


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<html><title>Jenkins</title></html>", "lists no model"),
        ("", "lists no model"),
        ({"data": [{"id": 1, "title": "A post"}]}, "lists no model"),
        ({"data": [{"id": "post-1"}]}, "lists no model"),
        (["a"], "lists no model"),
        (listed(), "lists no model"),
        (listed("", None, 5), "lists no model"),
        ({"object": "list", "data": ["a", None]}, "lists no model"),
        (listed("nomic-embed-text"), "lists no chat model"),
        (listed("lumina", owner="lumina"), "is Lumina itself"),
    ],
)
async def test_what_is_no_model_server_is_passed_over(body: object, reason: str):
    with page(body) as port:
        assert await reason_at(port) == reason


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "asks for a key"), (302, "status 302"), (404, "status 404")]
)
async def test_an_answer_that_is_no_success_is_passed_over(status: int, reason: str):
    with page("{}", status) as port:
        assert reason in await reason_at(port)


async def test_a_server_that_keeps_silent_costs_little_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        reason = await reason_at(silent.getsockname()[1])
    assert reason == "no answer within 0.5 seconds"
    assert time.monotonic() - began < 2


def test_the_host_of_a_container_is_tried_from_within_alone(monkeypatch):
    for is_container, hosts in ((False, {"127.0.0.1"}), (True, {"127.0.0.1", *CONTAINER_HOSTS})):
        monkeypatch.setattr(Path, "exists", lambda _, answer=is_container: answer)
        assert set(usual_hosts()) == hosts


async def test_an_unknown_host_is_named(monkeypatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    discovery = await look_for_models(["host.docker.internal"], [("Ollama", 11434)])
    assert discovery.tried[0].url == "http://host.docker.internal:11434/v1"
    assert discovery.tried[0].reason == "the name of the host is not known"


async def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    with ModelServer() as server:
        assert await find_local_model(HERE, [("Some", port_of(server))]) is not None
