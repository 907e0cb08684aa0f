"""Two people in two browsers: one invites, the other joins, asks, and is signed out from afar."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import sign_in
from tests.lumina_server import LuminaServer

pytestmark = [pytest.mark.browser, pytest.mark.processes]

PASSWORD = "four quiet words here"


def invited(page: Page, server: LuminaServer) -> str:
    """The link that the owner's page shows."""
    sign_in(page, server)
    page.get_by_role("link", name="People").click()
    page.get_by_role("button", name="Make an invitation").click()
    return page.get_by_label("The invitation").input_value()


def join(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Password, once more").fill(PASSWORD)
    page.get_by_label("Password, once more").press("Enter")
    expect(page.get_by_placeholder("Ask anything…")).to_be_visible()


def test_somebody_joins_by_a_link_asks_and_is_signed_out_when_disabled(
    page, new_context, lumina_server
) -> None:
    server = lumina_server()
    link = invited(page, server)
    theirs = new_context(viewport={"width": 390, "height": 844}, color_scheme="dark").new_page()
    join(theirs, link, "dora")
    theirs.get_by_placeholder("Ask anything…").fill("Why does ice float?")
    theirs.keyboard.press("Enter")
    expect(theirs.locator(".answer .citation").first).to_be_visible()

    page.get_by_role("link", name="People").click()
    expect(page.get_by_role("row", name="dora")).to_contain_text("person")
    expect(page.locator("body")).not_to_contain_text("Why does ice float?")
    page.get_by_role("link", name="dora").click()
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_text("disabled").first).to_be_visible()
    expect(theirs).to_have_url(re.compile("/sign-in/"))


def test_another_browser_is_signed_out_from_the_account_page(
    page, new_context, lumina_server
) -> None:
    server = lumina_server()
    sign_in(page, server)
    other = new_context().new_page()
    sign_in(other, server)
    page.get_by_role("link", name="Account").click()
    sessions = page.get_by_role("region", name="Where you are signed in")
    expect(sessions.get_by_role("listitem")).to_have_count(2)
    page.get_by_role("button", name="End all others").click()
    expect(sessions.get_by_role("listitem")).to_have_count(1)
    expect(sessions).to_contain_text("this browser")
    expect(other).to_have_url(re.compile("/sign-in/"))


@pytest.mark.parametrize("width", [390, 1280])
def test_the_pages_of_people_fit_and_are_worked_with_the_keyboard(
    page, lumina_server, width
) -> None:
    server = lumina_server()
    page.set_viewport_size({"width": width, "height": 844})
    sign_in(page, server)
    for path in ("/account/", "/people/", "/people/1/", "/people/log/", "/people/settings/"):
        page.goto(server.url + path)
        too_wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(too_wide), path
    page.goto(f"{server.url}/account/")
    page.get_by_label("New password", exact=True).focus()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Password until now")).to_be_visible()
