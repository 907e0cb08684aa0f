"""A stranger tries every address. They are listed by the program itself: a new one fails here until
it is tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from chat.models import (
    LibraryDocument,
    Run,
    User,
)
from tests.web.strangers.doors import doors
from tests.web.strangers.owned import everything_of

pytestmark = pytest.mark.django_db


OPEN_TO_ALL = {
    "sign-in",
    "sign-in-by-link",
    "sign-out",
    "sign-up",
    "invited",
    "reset",
    "reset-by-link",
    "healthz",
    "readyz",
    "metrics",
}
ONES_OWN = {
    "home",
    "conversations",
    "sidebar",
    "memory",
    "memory-new",
    "memory-forget-all",
    "account",
    "account-password",
    "account-time-zone",
    "account-end-others",
    "account-delete",
}
# What an operator finds, without a word of what anybody wrote.
OPERATORS = {"people", "people-invite", "people-withdraw", "people-log", "person", "check"}
OPERATORS |= {"person-change", "person-reset", "person-quota", "person-open", "person-close"}


def patterns(resolver: Any = None, before: str = "") -> Iterator[tuple[str, str]]:
    """Every address of the URL configuration: its name (or its route), and its route."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern, route)
        elif isinstance(pattern, URLPattern):
            yield pattern.name or route, route


def names(*, of_the_admin: bool) -> set[str]:
    return {name for name, route in patterns() if route.startswith("admin/") == of_the_admin}


def test_every_address_is_tried(secret_run: Run, secret_document: LibraryDocument) -> None:
    assert names(of_the_admin=False) == set(doors(secret_run, secret_document))


def test_a_stranger_sees_and_changes_nothing(
    alice: User,
    charlie: User,
    browser_of: Callable[[User], Client],
    secret_run: Run,
    secret_document: Any,
) -> None:
    before = everything_of(alice)
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        response = getattr(browser_of(charlie), method)(path, data)
        assert b"secret" not in response.content, name
        if name not in OPEN_TO_ALL | ONES_OWN:
            assert response.status_code == 404, name
    assert everything_of(alice) == before
    assert not User.objects.filter(username="new").exists()


def test_an_operator_reads_nothing_and_changes_no_owner(
    alice: User,
    bob: User,
    browser_of: Callable[[User], Client],
    secret_run: Run,
    secret_document: Any,
) -> None:
    before = everything_of(alice)
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        if name == "check":  # asks all services, and tells of none of the people
            continue
        response = getattr(browser_of(bob), method)(path, data)
        told = response.content.replace(b"secret@example.org", b"")
        assert b"secret" not in told, name
        if name not in OPEN_TO_ALL | ONES_OWN | OPERATORS:
            assert response.status_code == 404, name
    assert everything_of(alice) == before


def test_whoever_is_not_signed_in_is_sent_to_the_door(
    secret_run: Run, secret_document: LibraryDocument
) -> None:
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        response = getattr(Client(), method)(path, data)
        assert b"secret" not in response.content, name
        if name not in OPEN_TO_ALL:
            assert response.status_code == 302, name
            assert response["Location"].startswith("/sign-in/"), name


def test_the_owner_gets_every_page(
    alice: User, browser_of: Callable[[User], Client], secret_run: Run, secret_document: Any
) -> None:
    shut = {"sign-in-by-link", "invited", "reset-by-link", "metrics"}
    shut |= {"person-content", "person-conversation"}  # their own need no such page
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        if method == "get" and name not in shut:
            response = browser_of(alice).get(path, data, follow=True)
            assert response.status_code == 200, name


# --- The admin ----------------------------------------------------------------------------------


def admin_paths(run: Run) -> list[str]:
    """Every address of the admin, filled in with the owner's ids."""
    filled = []
    for _, route in patterns():
        if route.startswith("admin/") and "(?P" not in route:
            model = re.match(r"admin/(\w+)/(\w+)/", route)
            pk = run.owner_id if model and model[2] == "user" else run.pk
            filled.append("/" + re.sub(r"<[^>]+>", str(pk), route))
    assert len(filled) > 20
    return filled


def test_the_admin_is_not_there_for_strangers(
    alice: User, charlie: User, browser_of: Callable[[User], Client], secret_run: Run
) -> None:
    before = everything_of(alice)
    for path in admin_paths(secret_run):
        for method in ("get", "post"):
            # The admin sends whoever is no operator to its door, which is not there for them.
            response = getattr(browser_of(charlie), method)(path, follow=True)
            own = path in {"/admin/logout/", "/admin/password_change/"}
            assert own or response.status_code in {403, 404, 405}, path
            assert b"secret" not in response.content, path
    assert everything_of(alice) == before


def test_the_owner_finds_no_content_in_the_admin_either(
    alice: User, browser_of: Callable[[User], Client], secret_run: Run
) -> None:
    elsewhere = {"/admin/login/", "/admin/logout/", "/admin/password_change/"}
    for path in admin_paths(secret_run):
        if path not in elsewhere and not path.endswith("/password/"):
            response = browser_of(alice).get(path, follow=True)
            told = response.content.replace(b"secret@example.org", b"")
            assert b"secret" not in told, path
