"""Where a request comes from: its address, its browser and its person, while it is served."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

AGENT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Visitor:
    """`person` looks the account up when it is asked for; None when nobody is signed in."""

    address: str
    agent: str
    person: Callable[[], Any]


_current: ContextVar[Visitor | None] = ContextVar("visitor", default=None)


def current() -> Visitor | None:
    """The visitor of the request that is being served; None in commands and tasks."""
    return _current.get()


def enter(visitor: Visitor | None) -> None:
    _current.set(visitor)


def address_of(peer: str, forwarded_for: str, *, behind_proxy: bool) -> str:
    """The visitor's address; "" when there is none.

    Of the forwarded ones only the last was written by our own proxy; those before it are whatever
    the visitor sent.
    """
    last = forwarded_for.rpartition(",")[2].strip() if behind_proxy else ""
    for text in (last, peer):
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            continue
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return str(mapped or address)
    return ""


def address_of_request(request: HttpRequest, *, behind_proxy: bool) -> str:
    return address_of(
        request.META.get("REMOTE_ADDR", ""),
        request.META.get("HTTP_X_FORWARDED_FOR", ""),
        behind_proxy=behind_proxy,
    )


def address_of_scope(scope: Mapping[str, Any], *, behind_proxy: bool) -> str:
    """The same for a socket."""
    forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    peer = (scope.get("client") or ("",))[0]
    last = forwarded[-1].decode("latin-1") if forwarded else ""
    return address_of(str(peer), last, behind_proxy=behind_proxy)


def network_of(address: str) -> str:
    """What is counted as one visitor: an IPv4 address, or the /64 that one IPv6 line has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
