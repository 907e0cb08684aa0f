"""A page that does not give up: it connects again, asks again with the same id, and reads on."""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

AGAIN_SECONDS = 0.3
SILENCE_SECONDS = 20.0


@dataclass(slots=True)
class Page:
    """Asks one question and follows its answer to the end, as the page in the browser does."""

    url: str
    origin: str
    cookie: str
    question: str
    conversation: int | None = None
    client_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    run: int = 0
    status: str = ""
    seqs: list[int] = field(default_factory=list)
    n_connections: int = 0
    _last_seq: int = 0

    async def answered(self) -> None:
        """Returns once the page has heard how its answer ended."""
        while not self.status:
            with suppress(OSError, WebSocketException, TimeoutError, EOFError):
                async with self._connected() as socket:
                    self.n_connections += 1
                    await self._begin(socket)
                    await self._listen(socket)
            await asyncio.sleep(AGAIN_SECONDS)

    def _connected(self) -> connect:
        headers = {"Cookie": self.cookie}
        return connect(
            self.url,
            additional_headers=headers,
            origin=self.origin,
            open_timeout=10,
            close_timeout=1,
            compression=None,
        )

    async def _begin(self, socket: ClientConnection) -> None:
        if self.run:
            known = {str(self.run): self._last_seq}
            watch = {"type": "watch", "conversation": self.conversation, "runs": known}
            await socket.send(json.dumps({**watch, "newest": self.run}))
            return
        ask: dict[str, Any] = {"type": "ask", "text": self.question, "client_id": self.client_id}
        if self.conversation:
            ask["conversation"] = self.conversation
        await socket.send(json.dumps(ask))

    async def _listen(self, socket: ClientConnection) -> None:
        while not self.status:
            async with asyncio.timeout(SILENCE_SECONDS):
                message = json.loads(await socket.recv())
            self._hear(message)

    def _hear(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "accepted":
            self.run, self.conversation = message["run"], message["conversation"]
        elif kind == "refused":
            self.status = f"refused: {message['code']}"
        elif kind == "turn" and message["run"] == self.run:
            # A turn stands for all events up to its seq.
            self.seqs += range(self._last_seq + 1, message["seq"] + 1)
            self._last_seq = message["seq"]
            self.status = _status_in(message["html"])
        elif "puts" in message and message["run"] == self.run:
            self.seqs.append(message["seq"])
            self._last_seq = message["seq"]
            if kind == "run_finished":
                self.status = message["status"]


def _status_in(html: str) -> str:
    """The status of a turn that is shown as a whole; none while it goes on."""
    status = html.partition('data-status="')[2].partition('"')[0]
    return "" if status == "running" else status
