"""The self-check in a browser: one button, with and without scripts, wide and narrow."""

from __future__ import annotations

import pytest

from tests.browser.conftest import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.mark.parametrize("scripts", [True, False])
def test_the_check_is_one_button_and_fits_a_narrow_page(new_context, lumina_server, scripts):
    server = lumina_server()
    context = new_context(
        java_script_enabled=scripts, viewport={"width": 360, "height": 700}, color_scheme="dark"
    )
    page = context.new_page()
    sign_in(page, server)
    page.goto(f"{server.url}/check/")
    assert page.locator(".finding").count() == 0
    page.get_by_role("button", name="Check now").click()
    page.get_by_role("button", name="Check again").wait_for()
    assert "1 failure" in page.get_by_role("status").inner_text()
    first = page.locator(".finding").first
    assert first.get_by_role("heading").inner_text() == "Worker"
    assert "celery -A lumina worker" in first.inner_text()
    widest = page.locator(".findings").evaluate("box => box.scrollWidth - box.clientWidth")
    assert widest == 0
