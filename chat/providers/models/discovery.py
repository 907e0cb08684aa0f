"""Finding a model server on this machine, where the usual ones listen.

All addresses are asked at the same time for their list of models; whoever answers with anything
else, a web page or Lumina itself, is passed over. The choice depends on nothing but the answers.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

TIMEOUT_SECONDS = 0.5

# Name and port, in the order of preference.
USUAL_SERVERS = (("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234), ("vLLM", 8000))
# From inside of a container the host has one of these names, never 127.0.0.1.
CONTAINER_HOSTS = ("host.docker.internal", "172.17.0.1")

# What a server says of its models' owner tells more than the port.
_OWNERS = {"llamacpp": "llama.cpp", "vllm": "vLLM", "library": "Ollama"}
_LUMINA = "lumina"

_CANNOT_CHAT = re.compile(
    r"embed|rerank|whisper|moderation|diffusion|(^|[-_/.:])(bge|e5|gte|minilm|clip|tts|asr|stt|flux)"
    r"([-_/.:]|$)",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"base|coder?|math|vision|guard|(^|[-_/.:])vl([-_/.:]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundModel:
    base_url: str
    model: str
    server: str


@dataclass(frozen=True, slots=True)
class Tried:
    """An address that was asked, and why it is no use; no reason if it can be used."""

    url: str
    server: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """`found` is the first usable one of `tried`, which are in the order of preference."""

    found: FoundModel | None
    tried: tuple[Tried, ...]


def usual_hosts() -> tuple[str, ...]:
    is_container = any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv"))
    return ("127.0.0.1", *(CONTAINER_HOSTS if is_container else ()))


async def find_local_model(
    hosts: Sequence[str] | None = None,
    servers: Sequence[tuple[str, int]] = USUAL_SERVERS,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> FoundModel | None:
    discovery = await look_for_models(hosts, servers, timeout_seconds=timeout_seconds)
    return discovery.found


async def look_for_models(
    hosts: Sequence[str] | None = None,
    servers: Sequence[tuple[str, int]] = USUAL_SERVERS,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Discovery:
    """The same with every address that was tried. Takes `timeout_seconds` at most; never raises."""
    hosts = usual_hosts() if hosts is None else hosts
    places = [(name, f"http://{host}:{port}/v1") for host in hosts for name, port in servers]
    async with httpx.AsyncClient(trust_env=False, timeout=timeout_seconds) as client:
        answers = await asyncio.gather(
            *(_ask(client, name, url, timeout_seconds) for name, url in places)
        )
    found = next((answer for answer in answers if isinstance(answer, FoundModel)), None)
    return Discovery(found, tuple(_tried(answer) for answer in answers))


def _tried(answer: FoundModel | Tried) -> Tried:
    return answer if isinstance(answer, Tried) else Tried(answer.base_url, answer.server)


async def _ask(
    client: httpx.AsyncClient, name: str, url: str, timeout_seconds: float
) -> FoundModel | Tried:
    try:
        async with asyncio.timeout(timeout_seconds):
            response = await client.get(f"{url}/models")
    except (TimeoutError, httpx.TimeoutException):
        return Tried(url, name, f"no answer within {timeout_seconds:g} seconds")
    except httpx.HTTPError as error:
        return Tried(url, name, _why(error))
    return _judged(response, name, url)


def _why(error: BaseException) -> str:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, socket.gaierror):
            return "the name of the host is not known"
        seen = seen.__cause__ or seen.__context__
    return "nobody listens" if isinstance(error, httpx.ConnectError) else "no answer in HTTP"


def _judged(response: httpx.Response, name: str, url: str) -> FoundModel | Tried:
    if response.status_code in {401, 403}:
        return Tried(url, name, "asks for a key")
    if response.status_code != 200:
        return Tried(url, name, f"answers with status {response.status_code}, no list of models")
    entries = _entries(response)
    if not entries:
        return Tried(url, name, "lists no model")
    owners = {str(entry.get("owned_by")).lower() for entry in entries}
    if _LUMINA in owners:
        return Tried(url, name, "is Lumina itself")
    name = next((_OWNERS[owner] for owner in sorted(owners) if owner in _OWNERS), name)
    models = sorted((entry["id"] for entry in entries), key=_preference)
    models = [model for model in models if not _CANNOT_CHAT.search(model)]
    return FoundModel(url, models[0], name) if models else Tried(url, name, "lists no chat model")


def _entries(response: httpx.Response) -> list[dict[str, Any]]:
    """The entries of an OpenAI-style list; none if the answer is anything else."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return []
    data = body.get("data") if isinstance(body, dict) and body.get("object") == "list" else None
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    return [entry for entry in entries if isinstance(entry.get("id"), str) and entry["id"]]


def _preference(model: str) -> tuple[bool, str]:
    """Models for conversation before models for one purpose, then by name."""
    return bool(_SPECIAL.search(model)), model.casefold()
