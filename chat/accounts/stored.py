"""Settings that an owner can store in the database: the model's server and the search engines.

What the environment says wins. Values are encrypted; those of keys are never shown again. Reading
costs no query: each process holds what it has last read, and reads again before each run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings as environment
from django.db import transaction
from django.utils import timezone

from chat.accounts import audit, rules
from chat.accounts.models import StoredSetting
from chat.accounts.vault import Unreadable, Vault

KEYS = ("LUMINA_MODEL_KEY", "LUMINA_TAVILY_KEY", "LUMINA_BRAVE_KEY")
NAMES = ("LUMINA_MODEL_URL", "LUMINA_MODEL", "LUMINA_SEARXNG_URL", *KEYS)
SHOWN_CHARS = 4
LONG_ENOUGH_TO_SHOW = 16

_held: dict[str, str] = {}
_version = 0


class Configured:
    """The settings as `django.conf.settings`, with the stored ones where the environment is
    silent."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(environment, name)
        return value or _held.get(name, value) if name in NAMES else value


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page may say of one setting: never a key, of which only its end is told."""

    name: str
    is_key: bool
    state: str  # "environment", "stored", "unreadable" or "none"
    value: str = ""
    end: str = ""


def refresh() -> int:
    """Reads what is stored. The number goes up each time that this process finds it changed."""
    global _held, _version
    now = _read()
    if now != _held:
        _held, _version = now, _version + 1
    return _version


def store(by: Any, changes: Mapping[str, str]) -> None:
    """Stores values by name; an empty one is forgotten. Nothing of them gets into the log."""
    vault = Vault(rules.encryption_keys())
    with transaction.atomic():
        for name in sorted(set(changes) & set(NAMES)):
            value = changes[name]
            rows = StoredSetting.objects.filter(name=name)
            if not value and not rows.delete()[0]:
                continue
            if value:
                StoredSetting.objects.update_or_create(
                    name=name, defaults={"closed": vault.close(value), "at": timezone.now()}
                )
            told = f"{name} {'set' if value else 'forgotten'}"
            audit.note(audit.Action.SETTING_CHANGED, by=by, target=told)
    refresh()


def shown() -> list[Shown]:
    refresh()
    rows = set(StoredSetting.objects.values_list("name", flat=True))
    return [_shown(name, name in rows) for name in NAMES]


def _shown(name: str, is_stored: bool) -> Shown:
    is_key, given = name in KEYS, getattr(environment, name)
    if given:
        return Shown(name, is_key, "environment")
    if not is_stored:
        return Shown(name, is_key, "none")
    if name not in _held:
        return Shown(name, is_key, "unreadable")
    value = _held[name]
    if not is_key:
        return Shown(name, is_key, "stored", value=value)
    end = value[-SHOWN_CHARS:] if len(value) >= LONG_ENOUGH_TO_SHOW else ""
    return Shown(name, is_key, "stored", end=end)


def rotate() -> tuple[int, list[str]]:
    """Encrypts everything anew under the first key: how many, and the names that no key opens."""
    vault, n_done, lost = Vault(rules.encryption_keys()), 0, []
    with transaction.atomic():
        for row in StoredSetting.objects.select_for_update():
            try:
                row.closed = vault.renew(row.closed)
            except Unreadable:
                lost.append(row.name)
                continue
            row.save(update_fields=["closed"])
            n_done += 1
    return n_done, lost


def _read() -> dict[str, str]:
    rows = list(StoredSetting.objects.filter(name__in=NAMES))
    vault = Vault(rules.encryption_keys()) if rows else None
    found = {}
    for row in rows:
        assert vault is not None
        try:
            found[row.name] = vault.open(row.closed)
        except Unreadable:
            continue  # the page says so
    return found
