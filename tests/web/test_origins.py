"""Forms and sockets from our own pages work however Lumina is reached, and from no other page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from chat.accounts.origins import SameOrigin
from chat.database import in_database
from chat.models import User
from tests.web.conftest import PageSocket, _cookie_of

pytestmark = pytest.mark.django_db

# How a page is reached: the settings that differ, the request's headers, the page's origin.
PLACES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "localhost": ({}, {"host": "localhost:8000"}, "http://localhost:8000"),
    "this machine": ({}, {"host": "127.0.0.1:8000"}, "http://127.0.0.1:8000"),
    "IPv6": ({}, {"host": "[::1]:8000"}, "http://[::1]:8000"),
    "LAN": (
        {"ALLOWED_HOSTS": ["192.168.1.20"]},
        {"host": "192.168.1.20:8000"},
        "http://192.168.1.20:8000",
    ),
    "proxy with TLS": (
        {
            "ALLOWED_HOSTS": ["lumina.example"],
            "USE_X_FORWARDED_HOST": True,
            "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
        },
        {
            "host": "127.0.0.1:8000",
            "x-forwarded-host": "lumina.example",
            "x-forwarded-proto": "https",
        },
        "https://lumina.example",
    ),
    "proxy that changes the host": (
        {"ALLOWED_HOSTS": ["inside"], "CSRF_TRUSTED_ORIGINS": ["https://lumina.example"]},
        {"host": "inside:8000"},
        "https://lumina.example",
    ),
}
# What some other page's browser would send, whatever the place.
STRANGE_ORIGINS = (
    "https://evil.example",
    "http://localhost:3000",
    "http://localhost.evil.example",
    "null",
    "file://",
    "http://[::1",
    "",
)


@pytest.fixture(params=PLACES, ids=PLACES)
def place(request: Any, settings: Any) -> tuple[dict[str, str], str]:
    changed, headers, origin = PLACES[request.param]
    for name, value in changed.items():
        setattr(settings, name, value)
    return headers, origin


def test_a_form_works_from_its_own_page_and_from_no_other(
    alice: User, place: tuple[dict[str, str], str]
) -> None:
    headers, origin = place
    alice.set_password("correct horse battery")
    alice.save()
    client = Client(enforce_csrf_checks=True, headers=headers)
    page = client.get("/sign-in/").content.decode()
    token = page.split('csrfmiddlewaretoken" value="')[1].split('"')[0]
    form = {"username": "alice", "password": "correct horse battery", "csrfmiddlewaretoken": token}
    for strange in STRANGE_ORIGINS[:4]:
        assert client.post("/sign-in/", form, headers={"origin": strange}).status_code == 403
    without = {**form, "csrfmiddlewaretoken": ""}
    assert client.post("/sign-in/", without, headers={"origin": origin}).status_code == 403
    assert client.post("/sign-in/", form, headers={"origin": origin}).status_code == 302


async def test_a_socket_opens_from_its_own_page_and_from_no_other(
    alice: User, place: tuple[dict[str, str], str], transactional_db: Any
) -> None:
    headers, origin = place
    cookie = await in_database(_cookie_of)(alice)
    for strange in STRANGE_ORIGINS:
        assert not await opened(cookie, headers, strange), strange
    assert not await opened(cookie, headers, None)
    assert await opened(cookie, headers, origin)


async def opened(cookie: str, headers: dict[str, str], origin: str | None) -> bool:
    page = PageSocket(cookie)
    given = headers | {"cookie": cookie} | ({} if origin is None else {"origin": origin})
    page._socket.scope["headers"] = [(k.encode(), v.encode()) for k, v in given.items()]
    is_open = await page.open()
    if is_open:
        await page.close()
    return is_open


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "", "localhost:x", "@"])
async def test_a_host_that_is_not_ours_has_no_socket(
    alice: User, host: str, transactional_db: Any
) -> None:
    cookie = await in_database(_cookie_of)(alice)
    assert not await opened(cookie, {"host": host}, f"http://{host}")


async def test_forwarded_hosts_are_believed_behind_a_proxy_alone(
    alice: User, transactional_db: Any
) -> None:
    cookie = await in_database(_cookie_of)(alice)
    headers = {"host": "localhost", "x-forwarded-host": "evil.example"}
    assert not await opened(cookie, headers, "http://evil.example")


def test_the_check_is_round_everything_that_listens() -> None:
    from lumina.asgi import application

    router = application
    while not hasattr(router, "application_mapping"):
        router = next(value for value in vars(router).values() if callable(value))
    assert isinstance(router.application_mapping["websocket"], SameOrigin)


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites() -> None:
    assert django_settings.SESSION_COOKIE_HTTPONLY
    assert django_settings.CSRF_COOKIE_HTTPONLY
    assert django_settings.SESSION_COOKIE_SAMESITE == "Lax"
    assert django_settings.CSRF_COOKIE_SAMESITE == "Lax"


@pytest.mark.parametrize("path", ["/", "/account/", "/people/", "/people/log/", "/memory/"])
def test_pages_with_secrets_of_people_are_in_no_cache_and_no_frame(
    alice: User, browser_of: Callable[[User], Client], path: str
) -> None:
    response = browser_of(alice).get(path)
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    kept = response["Cache-Control"]
    assert "private" in kept
    assert "no-store" in kept or path in {"/", "/memory/"}


def test_https_makes_cookies_travel_encrypted_alone(tmp_path: Any) -> None:
    import subprocess
    import sys

    probe = (
        "import django; django.setup(); from django.conf import settings as s; "
        "print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_PROXY_SSL_HEADER)"
    )
    env = {
        "PATH": "/usr/bin:/bin",
        "LUMINA_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "lumina.settings",
        "LUMINA_HTTPS": "on",
    }
    told = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=django_settings.BASE_DIR,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.split() == ["True", "True", "None"]
