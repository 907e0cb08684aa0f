"""Typed readers for environment variables: one loud, kind error that names every wrong value."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

AWAY_SECONDS = 3


class Environment:
    """Reads variables, remembers each name it was asked for and every value it could not use.

    A reader that meets a wrong value notes it and returns the default; `finish` then raises one
    ImproperlyConfigured that lists all of them, so that an operator mends them in one go.
    """

    def __init__(self, values: Mapping[str, str] = os.environ) -> None:
        self._values = values
        self._faults: list[str] = []
        self.names_read: list[str] = []

    def text(self, name: str, default: str) -> str:
        self.names_read.append(name)
        return self._values.get(name, default).strip()

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name, "").lower()
        if value in {"", "1", "true", "yes", "on", "0", "false", "no", "off"}:
            return default if value == "" else value in {"1", "true", "yes", "on"}
        return self._fault(name, value, "is not a switch: use on or off", default)

    def count(self, name: str, default: int, *, at_least: int) -> int:
        value = self.text(name, "")
        if value == "":
            return default
        if not value.isdecimal() or int(value) < at_least:
            return self._fault(
                name, value, f"must be a whole number of {at_least} or more", default
            )
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        value = self.text(name, "")
        try:
            number = float(value) if value else default
        except ValueError:
            number = 0.0
        if not 0 < number < 86_400:
            return self._fault(name, value, "must be a number of seconds above 0", default)
        return number

    def share(self, name: str, default: float) -> float:
        value = self.text(name, "")
        try:
            number = float(value) if value else default
        except ValueError:
            number = 0.0
        if not 0 < number <= 1:
            return self._fault(name, value, "must be a share above 0 and up to 1", default)
        return number

    def url(self, name: str, default: str) -> str:
        value = self.text(name, default)
        parts = urlsplit(value)
        if value and (parts.scheme not in {"http", "https"} or not parts.netloc):
            hint = "must be an address that begins with http:// or https://"
            return self._fault(name, value, hint, default)
        return value.rstrip("/")

    def path(self, name: str, default: Path) -> Path:
        value = self.text(name, "")
        return Path(value).expanduser().resolve() if value else default

    def names(
        self, name: str, default: Sequence[str] = (), *, among: Sequence[str] = ()
    ) -> list[str]:
        """A comma-separated list; with `among`, only those words are known."""
        value = self.text(name, "")
        found = [part.strip() for part in value.split(",") if part.strip()]
        unknown = [part for part in found if among and part not in among]
        if unknown:
            hint = f"knows only {', '.join(among)}"
            return self._fault(name, ", ".join(unknown), hint, list(default))
        return found if value else list(default)

    def choice(self, name: str, default: str, *, among: Sequence[str]) -> str:
        value = self.text(name, default)
        if value not in among:
            return self._fault(name, value, f"must be one of {', '.join(among)}", default)
        return value

    def time_zone(self, name: str, default: str) -> str:
        value = self.text(name, "") or default
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError):
            hint = "is no time zone: use a name such as Europe/Madrid"
            return self._fault(name, value, hint, default)
        return value

    def database(self, name: str, default_file: Path) -> dict[str, Any]:
        """SQLite with short write transactions, or PostgreSQL with a connection pool."""
        value = self.text(name, "")
        scheme = value.partition(":")[0]
        if value and scheme not in {"sqlite", "postgres", "postgresql"}:
            self._fault(name, f"{scheme}:…", "must begin with postgres:// or sqlite:///", None)
            value = ""
        if scheme in {"postgres", "postgresql"}:
            config: dict[str, Any] = dict(dj_database_url.parse(value, conn_health_checks=True))
            # All work of a server waits in one line: a database that is away must be told soon,
            # and the pool must not sleep over its return.
            config["OPTIONS"] = {
                "connect_timeout": AWAY_SECONDS,
                **config.get("OPTIONS", {}),
                "pool": {
                    "min_size": 0,
                    "max_size": 20,
                    "timeout": AWAY_SECONDS,
                    "reconnect_timeout": AWAY_SECONDS,
                },
            }
            return config
        file = dj_database_url.parse(value)["NAME"] if value else str(default_file)
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": file,
            "CONN_MAX_AGE": None,  # a message on a socket would otherwise open the file anew
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;"
                ),
            },
        }

    def finish(self) -> None:
        if self._faults:
            lines = "\n  ".join(self._faults)
            raise ImproperlyConfigured(
                f"Lumina cannot start with these settings:\n  {lines}\n"
                "docs/CONFIGURATION.md describes every setting."
            )

    def _fault(self, name: str, value: str, hint: str, default: Any) -> Any:
        self._faults.append(f"{name}: {value!r} {hint}.")
        return default
