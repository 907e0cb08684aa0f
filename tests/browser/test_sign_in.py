"""The way in: a link that works once, for the owner alone."""

import httpx
import pytest

from tests.browser.conftest import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def test_the_link_opens_lumina_once(page, new_context, watch, lumina_server):
    server = lumina_server()
    link = server.sign_in_link()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")
    assert page.get_by_role("textbox").count() == 1

    watch.allow("410")
    elsewhere = new_context().new_page()
    assert elsewhere.goto(link).status == 410
    assert elsewhere.get_by_role("button", name="Sign in").count() == 0


def test_a_sign_in_outlives_the_server(page, watch, lumina_server):
    server = lumina_server()
    sign_in(page, server)
    watch.allow("WebSocket connection to|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET")
    server.kill()
    server.start()
    page.goto(server.url)
    assert page.url == f"{server.url}/"
    assert page.get_by_role("textbox").count() == 1


def test_without_a_link_every_page_leads_to_the_door(page, lumina_server):
    server = lumina_server()
    page.goto(f"{server.url}/c/1/")
    assert page.url == f"{server.url}/sign-in/?next=/c/1/"


def test_a_client_is_signed_in_as_the_owner(lumina_server):
    client = lumina_server().client()
    assert isinstance(client, httpx.Client)
    assert client.get("/").url.path == "/"
