"""What the scripted model server plays: turns, cues and how a cue becomes bytes.

The format is described in `model_server`.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Cue = Mapping[str, Any]
Body = dict[str, Any]


# --- Cues in short ------------------------------------------------------------------------------


def say(text: str, *, pieces: int = 1, every: float = 0.0, finish: str = "stop") -> list[Cue]:
    """A plain answer, cut into `pieces` deltas."""
    return [{"text": cut_up(text, pieces), "every": every}, {"finish": finish}]


def call(name: str, *, id: str = "", pieces: int = 1, **arguments: Any) -> list[Cue]:  # noqa: A002
    """One tool call, finished as such."""
    asked = {"name": name, "arguments": arguments, "id": id or f"call_{name}"}
    return [{"call": asked, "pieces": pieces}]


def fail(status: int, body: Any = None, **headers: str) -> list[Cue]:
    return [{"status": status, "body": body, "headers": headers}]


def cut_up(text: str, pieces: int) -> list[str]:
    """At most `pieces` parts of about the same length that together are `text`."""
    size = max(1, -(-len(text) // max(1, pieces)))
    return [text[start : start + size] for start in range(0, len(text), size)] or [text]


# --- Turns --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Turn:
    reply: Sequence[Cue] | Callable[[Body], Sequence[Cue]]
    when: str | Callable[[Body], bool] | None = None
    after_tools: bool | None = None
    times: int | None = None
    played: int = 0

    @classmethod
    def of(cls, turn: Turn | Mapping[str, Any] | Sequence[Cue]) -> Turn:
        if isinstance(turn, Turn):
            return turn
        return cls(**turn) if isinstance(turn, Mapping) else cls(turn)

    def fits(self, body: Body) -> bool:
        limit = self.times or (None if self.when else 1)
        if limit is not None and self.played >= limit:
            return False
        if self.after_tools is not None and self.after_tools != _ends_with_tool_result(body):
            return False
        if callable(self.when):
            return self.when(body)
        return self.when is None or bool(re.search(self.when, last_user_text(body)))

    def play(self, body: Body) -> Sequence[Cue]:
        self.played += 1
        return self.reply(body) if callable(self.reply) else self.reply


def last_user_text(body: Body) -> str:
    texts = [m.get("content") for m in body.get("messages", []) if m.get("role") == "user"]
    return str(texts[-1] or "") if texts else ""


def _ends_with_tool_result(body: Body) -> bool:
    messages = body.get("messages") or [{}]
    return bool(messages[-1].get("role") == "tool")


class Performance:
    """One reply on its way to the client."""

    def __init__(self, writer: asyncio.StreamWriter, body: Body) -> None:
        self._writer = writer
        self._model = body.get("model", "")
        self._counts = bool((body.get("stream_options") or {}).get("include_usage"))
        self._n_prompt = len(json.dumps(body.get("messages", [])).split())
        self._n_words = 0
        self._n_calls = 0
        self._began = self._finished = False
        self._usage: Any = ...

    async def play(self, cues: Sequence[Cue]) -> None:
        for cue in cues:
            if await self._perform(cue):
                return
        if not self._finished:
            await self._finish("tool_calls" if self._n_calls else "stop")
        await self._send_usage()
        await self._send_raw("data: [DONE]\n\n")
        await self._end()

    async def _perform(self, cue: Cue) -> bool:
        """True if nothing may follow."""
        if "status" in cue:
            extra = cue.get("headers") or {}
            await send(self._writer, cue["status"], cue.get("body"), extra)
            return True
        if "hang" in cue:
            await asyncio.Event().wait()
        if "cut" in cue:
            _reset(self._writer)
            return True
        if "error" in cue:
            await self._send_event({"error": cue["error"]})
        if "end" in cue or "error" in cue:
            await self._begin()
            await self._end()
            return True
        await self._say(cue)
        return False

    async def _say(self, cue: Cue) -> None:
        if "headers" in cue:
            await self._begin(cue["headers"])
        for name in ("text", "reasoning"):
            if name in cue:
                key = "content" if name == "text" else cue.get("field", "reasoning_content")
                await self._send_pieces(key, cue[name], cue.get("every", 0.0))
        if "call" in cue:
            await self._send_call(cue["call"], cue.get("pieces", 1))
        if "delta" in cue:
            await self._send_delta(cue["delta"])
        if "chunk" in cue:
            await self._send_event(cue["chunk"])
        if "raw" in cue:
            await self._send_raw(cue["raw"])
        if "pause" in cue:
            await asyncio.sleep(cue["pause"])
        if "usage" in cue:
            self._usage = cue["usage"]
        if "finish" in cue:
            await self._finish(cue["finish"])

    async def _send_pieces(self, key: str, pieces: str | Sequence[str], every: float) -> None:
        for piece in [pieces] if isinstance(pieces, str) else pieces:
            self._n_words += len(piece.split())
            await self._send_delta({key: piece})
            if every:
                await asyncio.sleep(every)

    async def _send_call(self, asked: Mapping[str, Any], pieces: int) -> None:
        arguments = asked.get("arguments", "{}")
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        index = asked.get("index", self._n_calls)
        self._n_calls += 1
        head = {"index": index, "id": asked.get("id", f"call_{index}"), "type": "function"}
        function = {"name": asked["name"], "arguments": ""}
        await self._send_delta({"tool_calls": [{**head, "function": function}]})
        for piece in cut_up(raw, pieces):
            await self._send_delta(
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            )

    async def _finish(self, reason: str | None) -> None:
        self._finished = True
        if reason is not None:
            await self._send_delta({}, reason)

    async def _send_usage(self) -> None:
        counted = {
            "prompt_tokens": self._n_prompt,
            "completion_tokens": self._n_words,
            "total_tokens": self._n_prompt + self._n_words,
        }
        usage = counted if self._usage is ... else self._usage
        if self._counts and usage is not None:
            await self._send_event({**self._frame(), "choices": [], "usage": usage})

    async def _send_delta(self, delta: Mapping[str, Any], reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        await self._send_event({**self._frame(), "choices": [choice]})

    def _frame(self) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": self._model,
        }

    async def _send_event(self, event: Any) -> None:
        await self._send_raw(f"data: {json.dumps(event)}\n\n")

    async def _begin(self, headers: Mapping[str, str] | None = None) -> None:
        if not self._began:
            self._began = True
            kind = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
            self._writer.write(_head(200, {**kind, **(headers or {})}))
            await self._writer.drain()

    async def _send_raw(self, text: str) -> None:
        await self._begin()
        data = text.encode("utf-8", "surrogatepass")
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writer.drain()

    async def _end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()


# --- HTTP ---------------------------------------------------------------------------------------


async def send(
    writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None
) -> None:
    text = body if isinstance(body, str) else json.dumps({} if body is None else body)
    data = text.encode()
    kind = "text/html" if text.lstrip().startswith("<") else "application/json"
    basic = {"content-type": kind, "content-length": str(len(data))}
    writer.write(_head(status, {**basic, **(headers or {})}) + data)
    await writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    known = {item.value: item.phrase for item in HTTPStatus}
    lines = [f"HTTP/1.1 {status} {known.get(status, 'Unknown')}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Drop the connection by a reset, so that the client cannot take it for an end."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def error(message: str, code: str | None = None) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}
