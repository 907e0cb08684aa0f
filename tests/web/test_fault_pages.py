"""The error pages stand by themselves: pytest-django fails these tests at the first query."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from django.test import Client


@pytest.mark.parametrize("name", ["403.html", "403_csrf.html", "404.html", "500.html"])
def test_an_error_page_needs_no_database_and_no_hashed_names(name: str) -> None:
    html = render_to_string(name)
    assert "<h1>" in html
    assert 'href="/static/css/palette.css"' in html
    assert 'href="/">Back to Lumina</a>' in html


def test_a_form_that_is_too_old_is_told_what_to_do() -> None:
    response = Client(enforce_csrf_checks=True).post("/sign-out/")
    assert response.status_code == 403
    assert "Go back, reload it, and try again." in response.content.decode()
