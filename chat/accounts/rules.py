"""What an installation allows, as values: the settings of accounts, limits and quotas."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils.crypto import salted_hmac

QUARTER = 15 * 60


@dataclass(frozen=True, slots=True)
class Rate:
    """`n` at once, and then one more each time that `seconds / n` have passed. 0: no limit."""

    n: int
    seconds: int

    def times(self, factor: int) -> Rate:
        return Rate(self.n * factor, self.seconds)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one person may use; 0 is no limit."""

    tokens_a_day: int
    tokens_a_month: int
    snapshot_bytes: int
    library_bytes: int


def asks() -> Rate:
    return Rate(settings.LUMINA_ASKS_PER_MINUTE, 60)


def searches() -> Rate:
    return Rate(settings.LUMINA_SEARCHES_PER_MINUTE, 60)


def door_tries() -> Rate:
    """Sign-ins, invitations, resets and new accounts, from one address or for one name."""
    return Rate(settings.LUMINA_DOOR_TRIES, QUARTER)


def address_factor() -> int:
    return settings.LUMINA_ADDRESS_FACTOR


def limits() -> Limits:
    return Limits(
        tokens_a_day=settings.LUMINA_TOKENS_PER_DAY,
        tokens_a_month=settings.LUMINA_TOKENS_PER_MONTH,
        snapshot_bytes=settings.LUMINA_SNAPSHOT_BYTES,
        library_bytes=settings.LUMINA_LIBRARY_BYTES,
    )


def sign_up_is_open() -> bool:
    return settings.LUMINA_SIGNUP


def invitation_lifetime() -> timedelta:
    return timedelta(days=settings.LUMINA_INVITATION_DAYS)


def audit_lifetime() -> timedelta | None:
    """None keeps entries for ever."""
    days = settings.LUMINA_AUDIT_DAYS
    return timedelta(days=days) if days else None


def mail_is_set_up() -> bool:
    return bool(settings.LUMINA_SMTP_HOST)


def behind_proxy() -> bool:
    return settings.LUMINA_BEHIND_PROXY


def encryption_keys() -> list[str]:
    """The first encrypts. The secret key is the last, so that another one can be added later."""
    return [*settings.LUMINA_ENCRYPTION_KEY, settings.SECRET_KEY]


def home_zone() -> str:
    return settings.TIME_ZONE


def fingerprint(text: str) -> str:
    """A short name for a text that must not be kept, such as what was typed as a name."""
    return salted_hmac("lumina.accounts", text, algorithm="sha256").hexdigest()[:32]
