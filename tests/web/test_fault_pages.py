"""The error pages stand by themselves: pytest-django fails these tests at the first query."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.template.loader import render_to_string
from django.test import Client

from chat import views


@pytest.mark.parametrize("name", ["403.html", "403_csrf.html", "404.html", "500.html", "503.html"])
def test_an_error_page_needs_no_database_and_no_hashed_names(name: str) -> None:
    html = render_to_string(name)
    assert "<h1>" in html
    assert 'href="/static/css/palette.css"' in html
    assert 'href="/">Back to Lumina</a>' in html


def test_a_form_that_is_too_old_is_told_what_to_do() -> None:
    response = Client(enforce_csrf_checks=True).post("/sign-out/")
    assert response.status_code == 403
    assert "Go back, reload it, and try again." in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OperationalError("gone"), 503, "The database does not answer"),
        (RuntimeError("oops"), 500, "Something went wrong"),
    ],
)
def test_a_database_that_is_away_is_told_from_a_fault_of_ours(
    alice: Any, monkeypatch: Any, error: Exception, status: int, words: str
) -> None:
    def failing(*given: Any, **named: Any) -> None:
        raise error

    client = Client(raise_request_exception=False)
    client.force_login(alice)
    monkeypatch.setattr(views, "get_object_or_404", failing)
    response = client.get("/c/1/")
    assert response.status_code == status
    assert words in response.content.decode()
    assert response.has_header("Retry-After") == (status == 503)
