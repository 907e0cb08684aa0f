"""Pages of real servers, from the outside: a socket each, as a browser opens it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.lumina_server import LuminaServer


class Page:
    """A page's socket to a real server."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def hear(self, seconds: float = 20.0) -> dict[str, Any]:
        return json.loads(self.socket.recv(timeout=seconds))

    def until(self, kind: str, seconds: float = 20.0) -> list[dict[str, Any]]:
        """Everything up to the first message of that type."""
        heard: list[dict[str, Any]] = []
        deadline = time.monotonic() + seconds
        while not heard or heard[-1]["type"] != kind:
            heard.append(self.hear(deadline - time.monotonic()))
        return heard


@cache
def cookie_of(server: LuminaServer) -> str:
    """The owner's, once a server: signing in takes a command."""
    return "; ".join(f"{name}={value}" for name, value in server.client().cookies.items())


def socket_to(server: LuminaServer, cookie: str = "", origin: str = "") -> ClientConnection:
    return connect(
        f"{server.url.replace('http', 'ws')}/ws/",
        additional_headers={"Cookie": cookie} if cookie else {},
        origin=origin or server.url,
    )


def opening_pages() -> Iterator[Callable[[LuminaServer], Page]]:
    """The body of a fixture: gives what opens pages, and closes them all."""
    with ExitStack() as sockets:
        yield lambda server: Page(sockets.enter_context(socket_to(server, cookie_of(server))))
