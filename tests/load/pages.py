"""Many pages in one process, each a socket that asks and reads; or the same straight at the model.

    python -m tests.load.pages

Takes one wish a line, a JSON object, and prints one line for each:

    {"do": "open", "url": "ws://…", "cookie": "…", "conversations": [ids]}   a socket each
    {"do": "ask", "streams": 50, "seconds": 10, "rate": 30}                  through Lumina
    {"do": "direct", "port": 123, "streams": 50, …}                          the model alone
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import Coroutine, Sequence
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.load.stamps import StampReader, now_ms

ASKS_A_SECOND = 12
OPENED_AT_ONCE = 50
LAST_WORD_SECONDS = 60.0

Wish = dict[str, Any]


class Load:
    """Streams that begin one after the other, and go on together for `seconds`."""

    def __init__(self, wish: Wish) -> None:
        self.n_streams: int = wish["streams"]
        self.rate: int = wish["rate"]
        self._ramp_seconds = self.n_streams / ASKS_A_SECOND
        self.n_tokens = int((self._ramp_seconds + wish["seconds"]) * self.rate)
        self.readers: list[StampReader] = []
        self.n_gaps = self.n_failed = 0

    @property
    def question(self) -> str:
        return f"tokens={self.n_tokens} rate={self.rate}"

    async def play(self, streams: Sequence[Coroutine[Any, Any, None]]) -> dict[str, Any]:
        tasks = []
        for stream in streams:
            tasks.append(asyncio.create_task(stream))
            await asyncio.sleep(1 / ASKS_A_SECOND)
        done = await asyncio.gather(*tasks, return_exceptions=True)
        faults = [repr(one) for one in done if isinstance(one, Exception)]
        return {**self._result(), "faults": faults[:3], "failed": self.n_failed + len(faults)}

    def reader(self) -> StampReader:
        self.readers.append(StampReader())
        return self.readers[-1]

    def _result(self) -> dict[str, Any]:
        """Delays count while all streams go on at once; losses count always."""
        began = max(reader.heard[0][0] for reader in self.readers if reader.heard)
        ended = min(reader.heard[-1][0] for reader in self.readers if reader.heard)
        if ended <= began:  # they were so late that they never did
            began, ended = min(began, ended), max(began, ended)
        delays = sorted(
            delay for reader in self.readers for at, delay in reader.heard if began <= at <= ended
        )
        return {
            "window": [began, ended],
            "n": len(delays),
            "p50": delays[len(delays) // 2] if delays else None,
            "p99": delays[int(len(delays) * 0.99)] if delays else None,
            "max": delays[-1] if delays else None,
            "lost": sum(reader.n_lost(self.n_tokens) for reader in self.readers),
            "reordered": sum(reader.n_reordered for reader in self.readers),
            "gaps": self.n_gaps,
        }


class Pages:
    """The open sockets of one signed-in person."""

    def __init__(self) -> None:
        self._sockets: list[ClientConnection] = []
        self._readers: list[asyncio.Task[None]] = []
        self._inboxes: list[asyncio.Queue[dict[str, Any]] | None] = []

    async def open(self, wish: Wish) -> dict[str, Any]:
        began = now_ms()
        todo = list(wish["conversations"])
        while todo:
            now, todo = todo[:OPENED_AT_ONCE], todo[OPENED_AT_ONCE:]
            await asyncio.gather(*(self._open(wish, conversation) for conversation in now))
        return {"open": len(self._sockets), "ms": now_ms() - began}

    async def _open(self, wish: Wish, conversation: int) -> None:
        socket = await connect(
            wish["url"],
            additional_headers={"Cookie": wish["cookie"]},
            origin=wish["origin"],
            compression=None,
            open_timeout=60,
            ping_interval=None,
        )
        await socket.send(json.dumps({"type": "watch", "conversation": conversation}))
        self._inboxes.append(None)
        self._readers.append(asyncio.create_task(self._read(socket, len(self._sockets))))
        self._sockets.append(socket)

    async def _read(self, socket: ClientConnection, number: int) -> None:
        async for text in socket:
            inbox = self._inboxes[number]
            if inbox is not None:
                inbox.put_nowait(json.loads(text))

    async def ask(self, wish: Wish) -> dict[str, Any]:
        load = Load(wish)
        told = await load.play([self._stream(load, number) for number in range(load.n_streams)])
        return {**told, "open": sum(one.state.name == "OPEN" for one in self._sockets)}

    async def _stream(self, load: Load, number: int) -> None:
        inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._inboxes[number] = inbox
        ask = {"type": "ask", "text": load.question, "client_id": uuid.uuid4().hex}
        await self._sockets[number].send(json.dumps(ask))
        reader, seq = load.reader(), 0
        while True:
            async with asyncio.timeout(LAST_WORD_SECONDS):
                message = await inbox.get()
            if message["type"] == "turn":
                seq = message["seq"]
            if "puts" not in message:
                continue
            load.n_gaps += message["seq"] != seq + 1
            seq = message["seq"]
            for put in message["puts"]:
                if put[0] == "text":
                    reader.feed(put[2])
            if message["type"] == "run_finished":
                load.n_failed += message["status"] != "complete"
                break
        self._inboxes[number] = None


async def direct(wish: Wish) -> dict[str, Any]:
    load = Load(wish)
    return await load.play([_direct(load, wish["port"]) for _ in range(load.n_streams)])


async def _direct(load: Load, port: int) -> None:
    stamps = load.reader()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"messages": [{"role": "user", "content": load.question}]}).encode()
    writer.write(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
    async for line in reader:
        if line.startswith(b"data: {"):
            choices = json.loads(line[6:])["choices"]
            stamps.feed(choices[0]["delta"].get("content", "") if choices else "")
    writer.close()


async def main() -> None:
    pages = Pages()
    doing = {"open": pages.open, "ask": pages.ask, "direct": direct}
    while line := await asyncio.to_thread(sys.stdin.readline):
        wish = json.loads(line)
        sys.stdout.write(json.dumps(await doing[wish["do"]](wish)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
