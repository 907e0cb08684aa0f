"""Connecting, with the check and the connection in one place so that nothing fits between them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore
import httpx

from chat.agent.errors import PageFailed, PageRefused
from chat.providers.fetch.addresses import is_closed_name

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
AddressRule = Callable[[str], bool]

_MAX_URL_CHARS = 4_000
_PORTS = {"http": 80, "https": 443}


async def system_resolver(host: str, port: int) -> list[str]:
    """Every address of the host, in the order of the system. Raises OSError if there is none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class AllowedHosts:
    """Hosts that are exempt from the checks: `host` with every port, or `host:port`."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._entries = {_written(entry.strip().lower()) for entry in entries if entry.strip()}

    def allows(self, host: str, port: int) -> bool:
        name = host.lower().rstrip(".")
        return (name, None) in self._entries or (name, port) in self._entries


def _written(entry: str) -> tuple[str, int | None]:
    """Splits `host:port`; IPv6 addresses may stand bare, or in brackets with a port."""
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        return host, int(port[1:]) if port[1:].isdecimal() else None
    host, colon, port = entry.rpartition(":")
    if colon and port.isdecimal() and ":" not in host:
        return host.rstrip("."), int(port)
    return entry.rstrip("."), None


def checked_url(url: str, allowed: AllowedHosts) -> httpx.URL:
    """The address in parts, its spelling checked. The host's addresses are checked on connecting.

    Raises PageRefused.
    """
    parts = _parsed(url)
    if parts.scheme not in _PORTS:
        raise PageRefused("Only addresses that begin with http:// or https:// can be read.")
    if parts.userinfo:
        raise PageRefused("An address with a name or password in it is not read.")
    if not parts.host or "%" in parts.host:
        raise PageRefused("This is not a web address.")
    port = port_of(parts)
    if allowed.allows(parts.raw_host.decode("ascii"), port):
        return parts
    if port not in _PORTS.values():
        raise PageRefused(f"Port {port} is not read: only 80 and 443 are.")
    if is_closed_name(parts.host):
        raise _not_public(parts.host)
    return parts


def port_of(url: httpx.URL) -> int:
    return url.port or _PORTS[url.scheme]


def _parsed(url: str) -> httpx.URL:
    # Browsers read a backslash as a slash and libraries do not: two readings, so no reading.
    if len(url) > _MAX_URL_CHARS or "\\" in url:
        raise PageRefused("This is not a web address.")
    try:
        return httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise PageRefused("This is not a web address.") from error


def _not_public(host: str) -> PageRefused:
    return PageRefused(
        f"{host} is not on the public internet, and private addresses are not read. An operator can"
        " allow a host with LUMINA_FETCH_ALLOWED_HOSTS."
    )


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to checked addresses only. TLS still sees the host's name."""

    def __init__(
        self, *, allowed: AllowedHosts, resolver: Resolver, is_public: AddressRule
    ) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._is_public = is_public
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises PageRefused, PageFailed for an unknown host, or httpcore's errors."""
        failure: Exception | None = None
        for address in await self._addresses(host, port):
            try:
                return await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or PageFailed(f"There is no site called {host}.")

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise PageFailed(f"There is no site called {host}.") from error
        exempt = self._allowed.allows(host, port)
        if not exempt and not all(self._is_public(address) for address in addresses):
            raise _not_public(host)
        return addresses
