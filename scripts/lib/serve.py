"""Serve Lumina with uvicorn, in development and production alike.

python -m scripts.lib.serve FD                     on a socket that is already open
python -m scripts.lib.serve --host HOST --port N   on one of its own, under a supervisor
"""

from __future__ import annotations

import argparse
import socket
import sys

import uvicorn


def main(arguments: list[str]) -> None:
    options = _options(arguments)
    config = uvicorn.Config(
        "lumina.asgi:application",
        host=options.host,
        port=options.port,
        log_config=None,  # Lumina's own form, without content
        access_log=False,  # addresses of pages are nobody's business
        server_header=False,
        proxy_headers=False,  # Lumina reads them itself, and only when LUMINA_BEHIND_PROXY is on
        ws_ping_interval=20,
        ws_ping_timeout=20,
        ws_per_message_deflate=False,  # costs more than it saves on one machine
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    given = options.descriptor
    server.run(sockets=None if given is None else [socket.socket(fileno=given)])
    if not server.started:
        sys.exit("The server did not start.")


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.lib.serve")
    parser.add_argument("descriptor", type=int, nargs="?", help="of a socket that is open")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
