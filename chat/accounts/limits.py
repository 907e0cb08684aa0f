"""How often something may be done, counted in the database: one count for all processes, and the
same with and without Redis.

Each key has one moment: when it will have settled. Everything that is done moves it on by the time
that one is worth; what would move it further than a whole period ahead is refused. (The generic
cell rate algorithm: exact waits, one row a key, nothing to sweep in time.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chat.accounts import rules
from chat.accounts.models import RateCount
from chat.accounts.rules import Rate
from chat.accounts.visitors import network_of


def take(charges: Mapping[str, Rate], now: datetime | None = None) -> int:
    """Counts one use of each key, all or none. 0, or the whole seconds until there is room."""
    rates = {key: rate for key, rate in sorted(charges.items()) if rate.n}
    if not rates:
        return 0
    with transaction.atomic():
        moment = now or timezone.now()
        rows = {key: _locked(key, moment) for key in rates}
        wait = max(_wait(rows[key], rate, moment) for key, rate in rates.items())
        if wait > 0:
            return math.ceil(wait)
        for key, row in rows.items():
            row.settled_at = max(row.settled_at, moment) + _worth(rates[key])
            row.save(update_fields=["settled_at"])
    return 0


def _locked(key: str, now: datetime) -> RateCount:
    """In the order of the keys, so that two that want the same rows cannot wait for each other."""
    rows = RateCount.objects.select_for_update()
    return rows.get_or_create(key=key, defaults={"settled_at": now})[0]


def _worth(rate: Rate) -> timedelta:
    return timedelta(seconds=rate.seconds / rate.n)


def _wait(row: RateCount, rate: Rate, now: datetime) -> float:
    ahead = max(row.settled_at, now) + _worth(rate) - now
    # A microsecond is what a database keeps of a time: what rounding adds is not refused.
    return (ahead - timedelta(seconds=rate.seconds, microseconds=rate.n)).total_seconds()


def give_back(charges: Mapping[str, Rate]) -> None:
    """Takes one use of each key back."""
    for key, rate in charges.items():
        if rate.n:
            rows = RateCount.objects.filter(key=key)
            rows.update(settled_at=F("settled_at") - _worth(rate))


def forget(*keys: str) -> None:
    RateCount.objects.filter(key__in=keys).delete()


def drop_settled() -> None:
    RateCount.objects.filter(settled_at__lt=timezone.now()).delete()


# --- What is limited ----------------------------------------------------------------------------


def take_ask(user_id: int, address: str) -> int:
    return take(_by_person_and_address("ask", user_id, address, rules.asks()))


def take_search(user_id: int, address: str) -> int:
    return take(_by_person_and_address("search", user_id, address, rules.searches()))


def take_sign_in(name: str, address: str) -> int:
    """A try at a password, by address, and by the name that was typed from wherever."""
    rate = rules.door_tries()
    return take({_sign_in_key(name): rate, **_by_address("sign-in", address, rate)})


def signed_in(name: str, address: str = "") -> None:
    """The right password: earlier tries at this name were its person's own. Of those from the
    address only this one is taken back, or an account of one's own would open it for guessing."""
    forget(_sign_in_key(name))
    give_back(_by_address("sign-in", address, rules.door_tries()))


def take_door(address: str) -> int:
    """A try at a link or a new account."""
    return take(_by_address("door", address, rules.door_tries().times(2)))


def take_reset(name: str, address: str) -> int:
    """A wish for a mail with a new link, by address, and by the account that would get it."""
    rate = rules.door_tries()
    by_name = {f"reset.name.{rules.fingerprint(name.casefold())}": rate}
    return take(by_name | _by_address("door", address, rate.times(2)))


def _sign_in_key(name: str) -> str:
    return f"sign-in.name.{rules.fingerprint(name.casefold())}"


def _by_person_and_address(what: str, user_id: int, address: str, rate: Rate) -> dict[str, Rate]:
    shared = _by_address(what, address, rate.times(rules.address_factor()))
    return {f"{what}.person.{user_id}": rate, **shared}


def _by_address(what: str, address: str, rate: Rate) -> dict[str, Rate]:
    network = network_of(address)
    return {f"{what}.address.{network}": rate} if network else {}


def in_words(seconds: int) -> str:
    """How long that is, as a person says it."""
    if seconds < 120:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    return f"{math.ceil(seconds / 60)} minutes"
