"""Resolvers for tests: nothing is asked of a name server."""

from __future__ import annotations

import socket
from ipaddress import ip_address


async def numeric_resolver(host: str, port: int) -> list[str]:
    """Reads numbers as the system's resolver does, in every spelling that C's `inet_aton` knows."""
    try:
        return [str(ip_address(host))]
    except ValueError:
        return [socket.inet_ntoa(socket.inet_aton(host))]
