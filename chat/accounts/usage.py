"""What a person has used, and whether there is room for more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db import transaction
from django.db.models import BigIntegerField, F, Func, QuerySet, Sum
from django.utils import timezone

from chat.accounts import rules
from chat.accounts.models import Quota, Usage
from chat.library_models import LibraryDocument
from chat.models import Source, User

FIELDS = ("tokens_a_day", "tokens_a_month", "snapshot_bytes", "library_bytes")


@dataclass(frozen=True, slots=True)
class Share:
    """One thing that can be used: so much of so much. A limit of 0 is none."""

    name: str
    used: int
    limit: int
    is_bytes: bool

    @property
    def is_full(self) -> bool:
        return bool(self.limit) and self.used >= self.limit


@dataclass(frozen=True, slots=True)
class Use:
    """A person's use as pages show it. `asks` and `searches` are of today."""

    asks: int
    searches: int
    shares: tuple[Share, ...]


def add(owner_id: int, **more: int) -> None:
    """Adds to the day's counts: asks, searches, tokens."""
    owner = User.objects.filter(pk=owner_id).first()
    if owner is None or not any(more.values()):
        return
    with transaction.atomic():
        row, _ = Usage.objects.get_or_create(owner=owner, day=today_of(owner))
        Usage.objects.filter(pk=row.pk).update(**{k: F(k) + n for k, n in more.items()})


def now_of(owner: User) -> datetime:
    try:
        zone = ZoneInfo(owner.time_zone or rules.home_zone())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zone = ZoneInfo(rules.home_zone())
    return timezone.now().astimezone(zone)


def today_of(owner: User) -> date:
    return now_of(owner).date()


def use_of(owner: User) -> Use:
    today, limits = today_of(owner), limits_of(owner)
    row = Usage.objects.filter(owner=owner, day=today).first() or Usage()
    shares = (
        Share("Tokens today", row.tokens, limits.tokens_a_day, False),
        Share("Tokens this month", _tokens_since(owner, today), limits.tokens_a_month, False),
        Share("Saved pages", bytes_of_snapshots(owner), limits.snapshot_bytes, True),
        Share("Library", bytes_of_library(owner), limits.library_bytes, True),
    )
    return Use(row.asks, row.searches, shares)


def _tokens_since(owner: User, today: date) -> int:
    rows = Usage.objects.filter(owner=owner, day__gte=today.replace(day=1), day__lte=today)
    return rows.aggregate(n=Sum("tokens"))["n"] or 0


def limits_of(owner: User) -> rules.Limits:
    """The person's own where there are some, the installation's otherwise."""
    general, own = rules.limits(), Quota.objects.filter(owner=owner).first()
    chosen = {name: getattr(own, name, None) for name in FIELDS}
    return rules.Limits(
        **{k: getattr(general, k) if value is None else value for k, value in chosen.items()}
    )


def refusal(owner: User) -> tuple[str, int] | None:
    """Why nothing more may be asked, and the seconds until that changes by itself; 0 for never.

    What is not limited is not counted up: on most installations this costs one query.
    """
    limits, now = limits_of(owner), now_of(owner)
    today = now.date()
    if limits.tokens_a_day:
        row = Usage.objects.filter(owner=owner, day=today).first()
        if row and row.tokens >= limits.tokens_a_day:
            return "You have used all tokens of today.", _until(now, today + timedelta(days=1))
    if limits.tokens_a_month and _tokens_since(owner, today) >= limits.tokens_a_month:
        return "You have used all tokens of this month.", _until(now, _next_month(today))
    if limits.snapshot_bytes and bytes_of_snapshots(owner) >= limits.snapshot_bytes:
        return "Your saved pages fill all the room that you have. Delete old conversations.", 0
    return None


def _until(now: datetime, day: date) -> int:
    midnight = datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)
    return max(1, int((midnight - now).total_seconds()) + 1)


def _next_month(today: date) -> date:
    return (today.replace(day=28) + timedelta(days=4)).replace(day=1)


def library_room(owner_id: int | None) -> int | None:
    """The bytes that the person's library may still take up. None: as many as there are."""
    owner = User.objects.filter(pk=owner_id).first() if owner_id else None
    limit = limits_of(owner).library_bytes if owner else 0
    return max(0, limit - bytes_of_library(owner)) if owner and limit else None


def bytes_of_snapshots(owner: User) -> int:
    return _bytes(Source.objects.of(owner), "snapshot")


def bytes_of_library(owner: User) -> int:
    return _bytes(LibraryDocument.objects.of(owner), "text")


def _bytes(rows: QuerySet[Any, Any], field: str) -> int:
    return rows.aggregate(n=Sum(_Octets(field)))["n"] or 0


class _Octets(Func):
    """The bytes of a text. SQLite has a function for it from 3.43 on alone."""

    function = "OCTET_LENGTH"
    output_field = BigIntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **more
        )
