"""Serve Lumina on a socket that is already open: python -m scripts.lib.serve FD."""

import socket
import sys

import uvicorn


def main(descriptor: int) -> None:
    config = uvicorn.Config(
        "lumina.asgi:application",
        access_log=False,  # addresses of pages are nobody's business
        server_header=False,
        ws_ping_interval=20,
        ws_ping_timeout=20,
        ws_per_message_deflate=False,  # costs more than it saves on one machine
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[socket.socket(fileno=descriptor)])
    if not server.started:
        sys.exit("The server did not start.")


if __name__ == "__main__":
    main(int(sys.argv[1]))
