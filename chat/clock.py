"""The time where a person is."""

from __future__ import annotations

import time
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


class ZoneClock:
    """The machine's clock, in a person's zone."""

    def __init__(self, zone: str) -> None:
        self.zone = ZoneInfo(zone)

    def now(self) -> datetime:
        return datetime.now(self.zone)

    def monotonic(self) -> float:
        return time.monotonic()


def known_zone(*names: str) -> str:
    """The first of these names that is a time zone, else UTC."""
    for name in names:
        try:
            return ZoneInfo(name).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return "UTC"
