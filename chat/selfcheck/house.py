"""What the installation is made of: settings, addresses, secrets' files, static files."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core import checks
from django.db import connection

from chat.checks import is_loopback
from chat.selfcheck.findings import Finding, failure, ok, warning
from chat.wiring import bind_address

COLLECT = "python manage.py collectstatic --noinput"
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def settings_together() -> Finding:
    found = [one for one in checks.run_checks(databases=["default"]) if not one.is_silenced()]
    found.sort(key=lambda one: -one.level)
    if not found:
        return ok("The settings fit together.")
    worst = found[0]
    more = f" ({len(found) - 1} more: python manage.py check)" if len(found) > 1 else ""
    level = failure if worst.level >= checks.ERROR else warning
    return level(f"{worst.msg}{more}", str(worst.hint or "docs/CONFIGURATION.md"))


def addresses() -> Finding:
    return addresses_finding(
        bind_address(),
        settings.ALLOWED_HOSTS,
        https=settings.SESSION_COOKIE_SECURE,
        debug=settings.DEBUG,
    )


def addresses_finding(bind: str, hosts: Sequence[str], *, https: bool, debug: bool) -> Finding:
    """Whether those who can reach `bind` also get an answer, and a safe one."""
    reachable = not is_loopback(bind)
    named = [host for host in hosts if not is_loopback(host.strip("[]"))]
    if "*" in hosts:
        return warning(
            "Any host name is accepted, so a link in a mail can be made to point elsewhere.",
            "Name the hosts in LUMINA_HOSTS instead of *.",
        )
    if debug and (reachable or named):
        return failure("Debug pages are on and others can reach them.", "LUMINA_DEBUG=off")
    if reachable and not named:
        return warning(
            f"Lumina listens on {bind}, but answers only those who call it localhost.",
            "Set LUMINA_HOSTS to the names or addresses under which it is reached.",
        )
    if named and not https:
        return warning(
            f"Lumina is reached as {', '.join(named)}, and sign-ins may travel unencrypted.",
            "Put a proxy with TLS in front (docs/DEPLOY.md) and set LUMINA_HTTPS=on.",
        )
    if named:
        return ok(f"It listens on {bind} and answers for {', '.join(named)}.")
    return ok(f"It listens on {bind} and answers on this machine alone.")


def secret_files() -> Finding:
    var = Path(settings.VAR_DIR)
    database = connection.settings_dict["NAME"] if connection.vendor == "sqlite" else ""
    return secret_files_finding(var, Path(database) if database else None)


def secret_files_finding(var: Path, database: Path | None) -> Finding:
    """A key that others can read is a fault; a database only where its folder is open too."""
    key = var / "secret_key"
    if key.exists() and key.stat().st_mode & OTHERS:
        return failure(f"Other users of this machine can read {key}.", f"chmod 600 {key}")
    if (
        database
        and database.exists()
        and database.stat().st_mode & OTHERS
        and database.parent.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH)
    ):
        return warning(
            f"Other users of this machine can read the conversations in {database}.",
            f"chmod 700 {database.parent}",
        )
    return ok("Only the user that runs Lumina can read its secrets.")


def static_files() -> Finding:
    known = getattr(staticfiles_storage, "hashed_files", None)
    if known is None:
        return ok("Static files are served as they are.")
    own = Path(settings.BASE_DIR, "static")
    wanted = [str(path.relative_to(own)) for path in own.rglob("*") if path.is_file()]
    missing = [
        name
        for name in wanted
        if name not in known or not Path(settings.STATIC_ROOT, known[name]).is_file()
    ]
    if missing:
        return failure(f"{len(missing)} static files are missing, such as {missing[0]}.", COLLECT)
    return ok(f"All {len(wanted)} static files are in place.")
