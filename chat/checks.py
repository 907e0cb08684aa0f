"""What is wrong with the settings taken together, each with a hint."""

from __future__ import annotations

import ipaddress
from typing import Any

from django.conf import settings
from django.core.checks import Error, register
from django.db import DatabaseError

from chat.tracing import is_installed

MIN_KEY_CHARS = 32


@register()
def model_settings(app_configs: Any, **options: Any) -> list[Error]:
    if settings.LUMINA_MODEL_URL and not settings.LUMINA_MODEL:
        return [
            Error(
                "LUMINA_MODEL_URL is set, but not which model to use.",
                hint="Set LUMINA_MODEL to the model's name as its server lists it.",
                id="lumina.E001",
            )
        ]
    if settings.LUMINA_MODEL and not settings.LUMINA_MODEL_URL:
        return [
            Error(
                "LUMINA_MODEL is set, but not where it runs.",
                hint="Set LUMINA_MODEL_URL, for example to http://127.0.0.1:11434/v1 for Ollama.",
                id="lumina.E002",
            )
        ]
    return []


@register()
def tracing_package(app_configs: Any, **options: Any) -> list[Error]:
    if not settings.LUMINA_TRACING or is_installed():
        return []
    return [
        Error(
            "LUMINA_TRACING is on, but OpenTelemetry is not installed.",
            hint="Install it: .venv/bin/pip install -r requirements-tracing.txt",
            id="lumina.E020",
        )
    ]


@register()
def encryption_keys(app_configs: Any, **options: Any) -> list[Error]:
    """A short key could be guessed from what it has encrypted."""
    if all(len(key) >= MIN_KEY_CHARS for key in settings.LUMINA_ENCRYPTION_KEY):
        return []
    return [
        Error(
            f"A key in LUMINA_ENCRYPTION_KEY has fewer than {MIN_KEY_CHARS} characters.",
            hint="Make one with `openssl rand -hex 32`.",
            id="lumina.E004",
        )
    ]


@register("database")
def listens_elsewhere(app_configs: Any, databases: Any = None, **options: Any) -> list[Error]:
    """Whoever listens beyond this machine needs a password first."""
    if is_loopback(settings.LUMINA_BIND) or not databases or _someone_has_a_password():
        return []
    return [
        Error(
            f"Lumina is to listen on {settings.LUMINA_BIND}, but nobody has a password.",
            hint=(
                "Start Lumina once on this machine alone, then set a password with "
                "`python manage.py changepassword owner`."
            ),
            id="lumina.E003",
        )
    ]


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _someone_has_a_password() -> bool:
    from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX

    from chat.models import User

    try:
        people = User.objects.filter(is_active=True).exclude(password="")
        return people.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists()
    except DatabaseError:
        return False
