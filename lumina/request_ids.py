"""Every request and every socket gets an id, which its log lines and its answer carry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from chat.logs import new_request_id, request_id

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HEADER = b"x-request-id"
ANSWERS = {"http.response.start", "websocket.accept"}


class RequestIds:
    def __init__(self, application: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._application(scope, receive, send)
            return
        given = dict(scope["headers"]).get(HEADER, b"").decode("latin-1")
        current = new_request_id(given)

        async def send_with_id(message: Message) -> None:
            if message["type"] in ANSWERS:
                header = (HEADER, current.encode())
                message = {**message, "headers": [*(message.get("headers") or ()), header]}
            await send(message)

        token = request_id.set(current)
        try:
            await self._application(scope, receive, send_with_id)
        finally:
            request_id.reset(token)
