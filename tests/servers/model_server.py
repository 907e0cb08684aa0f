"""A real OpenAI-compatible server on loopback that plays a script. For tests only.

In a test:

    with ModelServer([say("Water floats [1].")]) as server:
        OpenAICompatibleModel(base_url=server.url, model="scripted")
        ...
        assert server.requests[0].body["messages"][-1]["content"] == "Why?"

As a process of its own (`--port 0` takes a free one; the first line printed holds the address):

    python -m tests.servers.model_server --port 8123 --script FILE

FILE is JSON: a list of turns, or an object with the arguments of `ModelServer` by name
(`{"turns": [...], "models": ["scripted"], "key": "", "refuses": ["tools"]}`).

A turn answers one request (one step of the agent):

    {"reply": [cue, ...]}            a bare list of cues is the same
    {"when": "regex", "reply": …}    only if the regex is found in the last user message; in
                                     Python `when` may also be a function of the request's body
    {"after_tools": true, …}         only if the request ends with a tool's result (false: if not)
    {"times": 2, …}                  how many requests it answers; without `times` a turn with
                                     `when` answers any number and any other turn answers one

Each request takes the first turn that fits and is not used up. When none is left the server
answers 500 and says so. In Python, `reply` may also be a function: request's body to cues.

A cue is an object with one of these keys, played in order:

    {"text": "abc"}                  a piece of the answer; a list is one piece each
    {"reasoning": "hm"}              the same in `reasoning_content` (name it with "field")
      "every": 0.01                  seconds to wait after each piece of this cue
    {"call": {"name": "web_search", "arguments": {...} or "raw JSON", "id": "c1", "index": 0}}
      "pieces": 3                    cut the arguments into that many deltas
    {"delta": {...}}                 any delta as it is, in a chunk of its own
    {"chunk": {...}}                 any object as one event
    {"pause": 0.2}                   wait
    {"finish": "stop"}               finish reason. Without it (and without a misbehaviour) "stop",
                                     or "tool_calls" after a call; null sends none
    {"usage": {...} or null}         instead of a count of words; sent only if it was asked for
    {"hang": true}                   say nothing more until the client leaves
    {"cut": true}                    drop the connection (a reset, in the middle of the body)
    {"end": true}                    end the body here, without finish, usage or [DONE]
    {"raw": "data: {oops\n\n"}       these characters as they are
    {"error": {...} or "text"}       an error object in the stream, after which it ends
    {"headers": {...}}               headers to add to the 200 (content-type, for instance); first
    {"status": 429, "body": {...} or "text", "headers": {...}}
                                     a plain answer instead of a stream

`{"hang": true}` or `{"cut": true}` as the first cue happen before the first byte;
`[{"headers": {}}, {"hang": true}]` hangs between the headers and the first event.

Every request is recorded with its body and, if the client left before the end, when it did.
Over HTTP: GET /recorded lists the same, POST /script replaces the turns (a JSON list).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.servers.model_script import (
    Body,
    Cue,
    Performance,
    Turn,
    call,
    cut_up,
    error,
    fail,
    last_user_text,
    say,
    send,
)

__all__ = ["ModelServer", "Recorded", "Turn", "call", "cut_up", "fail", "last_user_text", "say"]


class _NotedProtocol(asyncio.StreamReaderProtocol):
    """Keeps an eye on its connection, so that one which has just been accepted is closed too."""

    def __init__(self, connections: set[asyncio.BaseTransport], accept: Any) -> None:
        super().__init__(asyncio.StreamReader(), accept)
        self._connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connections.add(transport)
        super().connection_made(transport)


@dataclass(slots=True)
class Recorded:
    """One request. Times are `time.monotonic()`; `left_at` is set if the client left early."""

    path: str
    headers: dict[str, str]
    body: Body
    at: float
    left_at: float | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def wait_until_ended(self, seconds: float = 5.0) -> float | None:
        """Waits for the end of the exchange, then gives `left_at`."""
        assert self.ended.wait(seconds), "the exchange is still going on"
        return self.left_at


class ModelServer:
    """Plays `turns` on a thread of its own between `start` and `stop`, or within `with`.

    `key`: answer 401 without it. `models`: what GET /v1/models lists; with `strict` any other
    name is a 404. `refuses`: parameters of a request that are answered by 400, such as
    "stream_options" or "tools".
    """

    def __init__(
        self,
        turns: Sequence[Turn | Mapping[str, Any] | Sequence[Cue]] = (),
        *,
        models: Sequence[str] = ("scripted",),
        listed: Body | None = None,
        key: str = "",
        strict: bool = False,
        refuses: Sequence[str] = (),
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.requests: list[Recorded] = []
        self.models = list(models)
        self.listed = dict(listed or {})
        self._key, self._strict, self._refuses = key, strict, refuses
        self._host, self._port = host, port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.play(*turns)

    def play(self, *turns: Turn | Mapping[str, Any] | Sequence[Cue]) -> None:
        """Replace what is left of the script."""
        self._turns = [Turn.of(turn) for turn in turns]

    @property
    def url(self) -> str:
        """The base URL a client is given, ending in /v1."""
        return f"http://{self._host}:{self._port}/v1"

    @property
    def bodies(self) -> list[Body]:
        """The bodies of the chat requests so far."""
        return [request.body for request in self.requests if request.body]

    def wait_for_a_request(self, seconds: float = 10.0) -> None:
        deadline = time.monotonic() + seconds
        while not self.requests and time.monotonic() < deadline:
            time.sleep(0.01)

    def start(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(10), "the model server did not start"
        return self

    def stop(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(10)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _work(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self._exchanges: set[asyncio.Task[None]] = set()
        connections: set[asyncio.BaseTransport] = set()
        server = await self._loop.create_server(
            lambda: _NotedProtocol(connections, self._accept), self._host, self._port
        )
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._closing.wait()
        for listening in server.sockets:
            self._loop.remove_reader(listening.fileno())
        await asyncio.sleep(0.02)  # asyncio loses a connection that it accepts while it closes
        server.close()
        for exchange in self._exchanges:
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)
        while connections:
            connections.pop().close()
            await asyncio.sleep(0.01)

    def run_until_interrupted(self) -> None:
        """Serve in this thread, for the process of its own."""
        ready = threading.Event()
        threading.Thread(target=self._announce, args=(ready,), daemon=True).start()
        self._work(ready)

    def _announce(self, ready: threading.Event) -> None:
        ready.wait()
        sys.stdout.write(f"model server on {self.url}\n")
        sys.stdout.flush()

    # --- One connection, one request --------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)
        try:
            await self._exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, request = await _read_request(reader)
        playing = asyncio.ensure_future(self._answer(method, request, writer))
        leaving = asyncio.ensure_future(_wait_until_left(reader))
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                request.left_at = time.monotonic()
        finally:
            playing.cancel()
            leaving.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)
            request.ended.set()

    async def _answer(self, method: str, request: Recorded, writer: asyncio.StreamWriter) -> None:
        if (method, request.path) == ("GET", "/recorded"):
            return await send(writer, 200, [_listed(r) for r in self.requests])
        if (method, request.path) == ("POST", "/script"):
            self.play(*request.body["list"])
            return await send(writer, 200, {"ok": True})
        if method == "POST":
            self.requests.append(request)
        refusal = self._refusal(request)
        if refusal is not None:
            return await send(writer, *refusal)
        if (method, request.path) == ("GET", "/v1/models"):
            models = [{"id": name, "object": "model"} | self.listed for name in self.models]
            return await send(writer, 200, {"object": "list", "data": models})
        if (method, request.path) != ("POST", "/v1/chat/completions"):
            return await send(writer, 404, error("no such path"))
        return await self._play(request.body, writer)

    def _refusal(self, request: Recorded) -> tuple[int, Body] | None:
        if self._key and request.headers.get("authorization") != f"Bearer {self._key}":
            return 401, error("Incorrect API key provided", code="invalid_api_key")
        asked = request.body.get("model", "")
        if self._strict and asked and asked not in self.models:
            return 404, error(f"The model '{asked}' does not exist", code="model_not_found")
        for name in self._refuses:
            if name in request.body:
                return 400, error(f"Unrecognized request argument supplied: {name}")
        return None

    async def _play(self, body: Body, writer: asyncio.StreamWriter) -> None:
        for turn in self._turns:
            if turn.fits(body):
                return await Performance(writer, body).play(turn.play(body))
        return await send(writer, 500, error("the script has no turn left for this request"))


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, Recorded]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    data = await reader.readexactly(int(headers.get("content-length", "0")))
    loaded = json.loads(data) if data else {}
    body = loaded if isinstance(loaded, dict) else {"list": loaded}
    return method, Recorded(path, headers, body, time.monotonic())


async def _wait_until_left(reader: asyncio.StreamReader) -> None:
    """Returns at end of file or a reset. Whatever the client still sends is read past."""
    try:
        while await reader.read(4096):
            pass
    except ConnectionError:
        pass


def _listed(request: Recorded) -> dict[str, Any]:
    return {
        "path": request.path,
        "body": request.body,
        "at": request.at,
        "left_at": request.left_at,
        "ended": request.ended.is_set(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Play a script as an OpenAI-compatible server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    options = parser.parse_args(arguments)
    script = json.loads(options.script.read_text()) if options.script else []
    settings = script if isinstance(script, dict) else {"turns": script}
    ModelServer(**{"port": options.port, **settings}).run_until_interrupted()


if __name__ == "__main__":
    main()
