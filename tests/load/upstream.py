"""A model server that does nothing but write stamped tokens at an even pace, as cheaply as it can.

    python -m tests.load.upstream

Prints its port. A question that holds "tokens=300 rate=30" is answered by as many tokens, that many
a second. The pace is kept by the clock: a token that was late does not make the next one later.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

from tests.load.stamps import token

_WISH = re.compile(rb"tokens=(\d+) rate=(\d+)")
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"connection: close\r\n\r\n"
)
_END = [
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 300}},
]


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        if not found:  # a question about the model, such as how much it can read
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        length = int(found[1])
        wishes = _WISH.findall(await reader.readexactly(length))
        await _stream(writer, *map(int, wishes[-1]))
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def _stream(writer: asyncio.StreamWriter, n_tokens: int, rate: int) -> None:
    loop = asyncio.get_running_loop()
    writer.write(_HEAD)
    began = loop.time()
    for number in range(n_tokens):
        await asyncio.sleep(began + number / rate - loop.time())
        writer.write(_chunk({"choices": [{"index": 0, "delta": {"content": token(number)}}]}))
        await writer.drain()
    for last in _END:
        writer.write(_chunk(last))
    writer.write(_frame(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    await writer.drain()


def _chunk(what: dict) -> bytes:
    event = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "load"}
    return _frame(b"data: " + json.dumps({**event, **what}).encode() + b"\n\n")


def _frame(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=2_048)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
