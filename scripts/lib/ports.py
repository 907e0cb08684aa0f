"""Finding a port to listen on, and waiting until something answers there."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException

PORTS_TRIED = 50


class NoPort(Exception):
    """No socket could be opened; the text says why."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on `port`, or on the next free one; 0 asks for any.

    The socket itself is handed to the server: a port that was only looked at could be gone by
    the time it is used.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except socket.gaierror as error:
        raise NoPort(f"{host!r} is no address of this machine: {error.strerror}") from error
    for candidate in range(port, min(port + PORTS_TRIED, 65536)):
        with suppress(_Taken):
            return _bound(family, host, candidate)
    raise NoPort(f"Ports {port} to {candidate} of {host} are all taken.")


class _Taken(Exception):
    pass


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise _Taken from error
        raise NoPort(f"Cannot listen on {host}, port {port}: {error.strerror}.") from error
    return listener


def free_port() -> int:
    """A port of this machine's own that nobody used a moment ago."""
    with listen("127.0.0.1", 0) as listener:
        return int(listener.getsockname()[1])


def base_url(host: str, port: int) -> str:
    """Where a browser on this machine finds a server that listens on `host`."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def answers(url: str, timeout_seconds: float = 1.0) -> bool:
    """Whether an HTTP server answers at a base URL, with whatever status."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=timeout_seconds)
    try:
        connection.request("HEAD", "/")
        connection.getresponse()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return True
