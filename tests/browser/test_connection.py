"""A connection that is lost, and a server that dies: the open page mends itself."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests import lumina_server as servers
from tests.browser.stage import (
    ROWS,
    ChatPage,
    Gate,
    answers,
    says,
    searches,
    stage_settings,
)
from tests.lumina_server import LuminaServer, Template
from tests.servers.model_server import ModelServer
from tests.servers.search import searxng_answer
from tests.servers.web import web_server

pytestmark = [pytest.mark.browser, pytest.mark.processes]

FIRST = "Ice floats because it is less dense [1].\n\nLakes "
REST = "freeze from above [4].\n"


@pytest.fixture(scope="module")
def own_stage(
    browser: Browser, server_template: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LuminaServer, ModelServer]]:
    """A server that a test may kill, if it starts it again, with its model."""
    folder = tmp_path_factory.mktemp("own-stage")
    with web_server(searxng_answer(ROWS)) as web, ModelServer() as model:
        for start in servers.running(server_template, folder):
            yield start(**stage_settings(web, model)), model


@pytest.fixture
def own_chat(own_stage, new_context) -> ChatPage:
    server, _ = own_stage
    context = new_context()
    cookies = [(one.name, one.value) for one in server.client().cookies.jar]
    context.add_cookies([{"name": n, "value": v, "url": server.url} for n, v in cookies])
    chat = ChatPage(context.new_page(), server.url).open()
    chat.page.locator("lumina-conversation[data-connected]").wait_for()
    return chat


def test_a_killed_server_leaves_an_interrupted_answer_that_can_be_retried(
    own_stage, own_chat, watch
):
    server, model = own_stage
    watch.allow("ERR_CONNECTION_REFUSED|WebSocket connection")
    model.play(searches(), answers(FIRST, {"hang": True}, times=1))
    own_chat.ask("Why does ice float?")
    expect(own_chat.citation(1)).to_be_visible()
    server.kill()
    expect(own_chat.page.get_by_text("Connection lost")).to_be_visible()
    own_chat.box.fill("A draft")
    server.start()

    own_chat.wait_for("interrupted")
    expect(own_chat.page.get_by_text("Connection lost")).to_be_hidden()
    expect(own_chat.last.locator(".notice")).to_contain_text("The server stopped")
    expect(own_chat.answer).to_contain_text("Lakes")
    expect(own_chat.last.locator(".source.used")).to_have_count(1)
    expect(own_chat.box).to_have_value("A draft")

    shown = own_chat.outcome()
    own_chat.page.reload()
    assert own_chat.outcome() == shown
    model.play(searches(), answers(FIRST, REST))
    own_chat.last.get_by_role("button", name="Try again").click()
    own_chat.wait_for()
    expect(own_chat.answer).to_contain_text("freeze from above")
    expect(own_chat.last.get_by_text("2/2")).to_be_visible()
    expect(own_chat.page.locator(".question-text")).to_have_text(["Why does ice float?"])


def test_a_question_asked_while_the_connection_is_lost_is_asked_once_it_is_back(
    own_stage, own_chat, watch
):
    server, model = own_stage
    watch.allow("ERR_CONNECTION_REFUSED|WebSocket connection")
    model.play(says("Here I am."))
    server.kill()
    expect(own_chat.page.get_by_text("Connection lost")).to_be_visible()
    own_chat.ask("Are you there?")
    expect(own_chat.last.get_by_text("Sending…")).to_be_visible()
    server.start()
    expect(own_chat.wait_for().answer).to_have_text("Here I am.")
    expect(own_chat.turns).to_have_count(1)
    own_chat.page.reload()
    expect(own_chat.turns).to_have_count(1)


def test_a_page_that_was_cut_off_catches_up_without_loss_or_doubling(chat, model, watch):
    """The socket is cut in the middle of an answer; what was said meanwhile comes once."""
    watch.allow("ERR_INTERNET_DISCONNECTED|WebSocket connection")
    cut, back = Gate(), Gate()
    model.play(searches(), answers("One, ", cut, "two, ", back, "three."))
    chat.page.add_init_script(
        "const Real = WebSocket; window.WebSocket = class extends Real {"
        "  constructor(...all) { super(...all); window.lastSocket = this; } }"
    )
    chat.open("/")
    chat.ask("Count")
    expect(chat.answer).to_contain_text("One,")
    chat.page.context.set_offline(True)
    chat.page.evaluate("lastSocket.close()")
    expect(chat.page.get_by_text("Connection lost")).to_be_visible()
    cut.set()
    back.set()
    expect(chat.answer).to_have_text("One,")
    chat.page.context.set_offline(False)
    expect(chat.wait_for().answer).to_have_text("One, two, three.")
    expect(chat.page.get_by_text("Connection lost")).to_be_hidden()
