"""Sockets are opened by our own pages alone.

A browser sends the cookie along whoever's page opens the socket, and no token as a form has one:
the origin is the only thing that tells pages apart. The rule is the one that Django has for forms:
the page's origin is the host that was asked, port and all, or one of the trusted ones. Channels'
own check lets every port of an allowed host in, such as another program on this machine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

Application = Callable[[Any, Any, Any], Awaitable[Any]]
DEFAULT_PORTS = {"http": "80", "https": "443"}


class SameOrigin:
    """Refuses sockets from pages of other origins, and those without one."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        chosen = self._application if _is_own(scope["headers"]) else WebsocketDenier()
        return await chosen(scope, receive, send)


def _is_own(headers: list[tuple[bytes, bytes]]) -> bool:
    given = {name: value.decode("latin-1") for name, value in headers}
    origin = given.get(b"origin", "")
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    host = given.get(b"host", "")
    if settings.USE_X_FORWARDED_HOST:
        host = given.get(b"x-forwarded-host", host)
    domain, _ = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    return _place(origin) is not None and _place(origin) == _place(f"{_scheme(origin)}://{host}")


def _scheme(origin: str) -> str:
    return origin.partition("://")[0]


def _place(origin: str) -> tuple[str, str] | None:
    """Host and port of an origin; None for what is none, such as "null"."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        return None
    return parts.hostname, str(port or DEFAULT_PORTS[parts.scheme])
