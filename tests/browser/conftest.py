"""A real Chromium in front of real servers; a page that misbehaves fails its test."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from scripts.lib.steps import ROOT
from tests import lumina_server as servers
from tests.browser.stage import ROWS, ChatPage, stage_settings
from tests.loopback import is_this_machine
from tests.lumina_server import LuminaServer, Template
from tests.servers.model_server import ModelServer
from tests.servers.search import searxng_answer
from tests.servers.web import web_server

SCREENSHOTS = ROOT / "var" / "screenshots"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name is looked up: what a page wants from outside fails, and is seen below.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


class Watch:
    """Notes what no page of Lumina may do: errors in the console, requests to other machines."""

    def __init__(self) -> None:
        self._faults: list[str] = []
        self._allowed: list[re.Pattern[str]] = []

    def allow(self, pattern: str) -> None:
        """A fault that the test brings about on purpose."""
        self._allowed.append(re.compile(pattern))

    def follow(self, context: BrowserContext) -> None:
        context.on("console", lambda said: said.type == "error" and self._note(said.text))
        context.on("weberror", lambda error: self._note(f"Uncaught {error.error}"))
        context.on("request", lambda request: self._check(request.url))
        context.on("page", lambda page: page.on("websocket", lambda ws: self._check(ws.url)))

    def _check(self, url: str) -> None:
        parts = urlsplit(url)
        local = parts.scheme in {"data", "blob", "about"}
        if not local and not is_this_machine(parts.hostname or ""):
            self._note(f"Request to another machine: {url}")

    def _note(self, fault: str) -> None:
        self._faults.append(fault)

    def faults(self) -> list[str]:
        return [fault for fault in self._faults if not any(p.search(fault) for p in self._allowed)]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = os.environ.get("LUMINA_CHROMIUM")
    if not program:
        pytest.skip("LUMINA_CHROMIUM names no browser: start the tests with scripts/test")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def new_context(
    browser: Browser, watch: Watch, request: pytest.FixtureRequest
) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browser profiles that share nothing; takes Playwright's options of a context."""
    contexts: list[BrowserContext] = []

    def open_context(**options) -> BrowserContext:
        context = browser.new_context(**options)
        watch.follow(context)
        contexts.append(context)
        return context

    yield open_context
    faults = watch.faults()
    if faults or request.node.stash.get(FAILED, False):
        _photograph(contexts, request.node.name)
    for context in contexts:
        context.close()
    if faults:
        pytest.fail("The page misbehaved:\n" + "\n".join(faults))


@pytest.fixture(scope="session")
def shared_stage(
    browser: Browser, server_template: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LuminaServer, ModelServer, list[dict[str, str]]]]:
    """A server, its scripted model and a session, for tests that leave the server running.

    The web is a search engine that gives the same pages for every query.
    """
    folder = tmp_path_factory.mktemp("stage")
    with web_server(searxng_answer(ROWS)) as web, ModelServer() as model:
        for start in servers.running(server_template, folder):
            server = start(**stage_settings(web, model))
            cookies = [
                {"name": one.name, "value": one.value or "", "url": server.url}
                for one in server.client().cookies.jar
            ]
            yield server, model, cookies


@pytest.fixture
def model(shared_stage) -> ModelServer:
    """The shared server's model; a test plays its own script on it."""
    return shared_stage[1]


@pytest.fixture
def open_chat(shared_stage, new_context) -> Callable[..., ChatPage]:
    """Opens a page of the shared server, in a signed-in browser profile of its own."""
    server, _, cookies = shared_stage

    def open_page(path: str = "/", **options) -> ChatPage:
        context = new_context(**options)
        context.add_cookies(cookies)
        return ChatPage(context.new_page(), server.url).open(path)

    return open_page


@pytest.fixture
def chat(open_chat) -> ChatPage:
    return open_chat()


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    return new_context().new_page()


def sign_in(page: Page, server: LuminaServer) -> None:
    """Go in as the owner, as a person does: open the link, confirm, arrive at the first page."""
    page.goto(server.sign_in_link())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")


def _photograph(contexts: list[BrowserContext], test: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    pages = [page for context in contexts for page in context.pages if not page.is_closed()]
    for number, page in enumerate(pages, start=1):
        name = re.sub(r"[^\w.-]+", "-", f"{test}-{number}")
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
