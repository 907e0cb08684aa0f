"""A real web server on loopback that behaves as badly as a test needs."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Seen:
    """A request as it arrived: `target` is the raw path with its query."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query))

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Route = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request being answered. `closing` is set when the server is about to stop."""

    handler: BaseHTTPRequestHandler
    seen: Seen
    closing: threading.Event

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.start(status, content_length=str(len(body)), **headers)
        self.write(body)

    def start(self, status: int, **headers: str) -> None:
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def write(self, data: bytes) -> None:
        self.handler.wfile.write(data)
        self.handler.wfile.flush()


@dataclass
class WebServer:
    """Answers with `routes[path]`, or `default`. `requests` are all that came, in order."""

    port: int
    host: str = "127.0.0.1"
    scheme: str = "http"
    routes: dict[str, Route] = field(default_factory=dict)
    default: Route | None = None
    requests: list[Seen] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def answer(self, exchange: Exchange) -> None:
        self.requests.append(exchange.seen)
        route = self.routes.get(urlsplit(exchange.seen.target).path, self.default)
        (route or reply(404))(exchange)


@contextmanager
def web_server(
    default: Route | None = None, *, tls: ssl.SSLContext | None = None
) -> Iterator[WebServer]:
    closing = threading.Event()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda: server, closing))
    http.daemon_threads = False
    if tls:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    server = WebServer(http.server_address[1], scheme="https" if tls else "http", default=default)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        closing.set()
        http.shutdown()
        http.server_close()
        thread.join()


def _handler(
    server: Callable[[], WebServer], closing: threading.Event
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(self.command, self.path, headers, self.rfile.read(length))
            # The other side may hang up whenever it has seen enough.
            with suppress(ConnectionError, ssl.SSLError):
                server().answer(Exchange(self, seen, closing))

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            pass

    return Handler


def reply(status: int = 200, body: bytes | str = b"", kind: str = "", **headers: str) -> Route:
    data = body.encode() if isinstance(body, str) else body
    named = {"content_type": kind, **headers} if kind else headers
    return lambda exchange: exchange.send(status, data, **named)


def json_reply(value: Any, status: int = 200) -> Route:
    return reply(status, json.dumps(value), "application/json")


def html_reply(body: str, kind: str = "text/html; charset=utf-8") -> Route:
    return reply(200, body, kind)


def redirect(to: str, status: int = 302) -> Route:
    return reply(status, location=to)


def silence(exchange: Exchange) -> None:
    """Takes the request and never answers."""
    exchange.closing.wait(30)


def hang_up(exchange: Exchange) -> None:
    """Announces a body and closes in the middle of it."""
    exchange.start(200, content_type="text/html", content_length="1000")
    exchange.write(b'{"results": [')


def gibberish(exchange: Exchange) -> None:
    """Speaks no HTTP at all."""
    exchange.write(b"\x00\x01\x02 what is this\r\n\r\n")


def drip(kind: str = "text/html", seconds: float = 0.05) -> Route:
    """A byte at a time, for ever."""

    def route(exchange: Exchange) -> None:
        exchange.start(200, content_type=kind)
        while not exchange.closing.wait(seconds):
            exchange.write(b"a")

    return route


def flood(kind: str = "text/html", piece: bytes = b"<p>word word word</p>" * 1000) -> Route:
    """As fast as it goes, for ever."""

    def route(exchange: Exchange) -> None:
        exchange.start(200, content_type=kind)
        while not exchange.closing.is_set():
            exchange.write(piece)

    return route
