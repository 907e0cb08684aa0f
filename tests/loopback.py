"""Keeps the tests on this machine: whatever reaches beyond loopback is refused and told.

An audit hook sees every connection and look-up made through Python's own sockets, asyncio's
included, and cannot be passed by a name that was imported early. It does not see what compiled
libraries do with sockets of their own (libpq, uvloop, Rust), nor other processes.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

CONNECTS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
LOOK_UPS = {
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.gethostbyaddr",
}
LOOPBACK_NAMES = {"", "localhost"}


class ReachedOutsideError(Exception):
    """A test tried to reach another machine.

    Not an OSError on purpose: code under test would take that for a network that is down.
    """


class Guard:
    """Refuses and remembers each attempt; one that was swallowed still fails its test."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self._rules: dict[str, Callable[[tuple], bool]] = {
            **dict.fromkeys(CONNECTS, _connects_inside),
            **dict.fromkeys(LOOK_UPS, _looks_up_inside),
        }

    def install(self) -> None:
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple) -> None:
        rule = self._rules.get(event)
        if rule is None or rule(arguments):
            return
        test = os.environ.get("PYTEST_CURRENT_TEST", "Something outside of any test")
        attempt = f"{test} reached outside this machine: {event}{arguments!r}"
        self.attempts.append(attempt)
        raise ReachedOutsideError(attempt)


def _connects_inside(arguments: tuple) -> bool:
    connection, address = arguments[0], arguments[-1]
    if connection.family not in {socket.AF_INET, socket.AF_INET6} or address is None:
        return True
    return is_this_machine(str(address[0]))


def _looks_up_inside(arguments: tuple) -> bool:
    """Writing an address in numbers asks nobody, so only names are refused."""
    host = arguments[0]
    name = host.decode() if isinstance(host, bytes) else host or ""
    return name in LOOPBACK_NAMES or _parsed(name) is not None or _is_old_number(name)


def is_this_machine(host: str) -> bool:
    address = _parsed(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback if address else host in LOOPBACK_NAMES


def _is_old_number(host: str) -> bool:
    """Whether it is an address in one of the spellings of old, such as 0x7f.1 or 2130706433."""
    try:
        socket.inet_aton(host)
    except (OSError, ValueError):
        return False
    return True


def _parsed(host: str):
    try:
        return ip_address(host)
    except ValueError:
        return None
