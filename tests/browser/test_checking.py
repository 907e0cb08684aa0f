"""An answer that is checked before one's eyes: a sentence is replaced, another one is marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests import lumina_server as servers
from tests.browser.stage import ROWS, ChatPage, Gate, scripted, searches, stage_settings
from tests.lumina_server import LuminaServer, Template
from tests.servers.model_server import ModelServer, Turn
from tests.servers.search import searxng_answer
from tests.servers.web import web_server

pytestmark = [pytest.mark.browser, pytest.mark.processes]

DRAFT = (
    "Ice is less dense than **mercury from Idria** [1]. Lakes freeze from above [4].\n\n"
    "- An iceberg shows 37 % of its volume [5].\n- Water is densest at four degrees Celsius [2].\n"
)
MENDED = "Ice is less dense than water [1]."
WORSE = "An iceberg shows 38 % of its volume [5]."


@pytest.fixture(scope="module")
def checked_stage(
    browser: Browser, server_template: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LuminaServer, ModelServer]]:
    """A server that checks its answers, with a second folder in its owner's library."""
    folder = tmp_path_factory.mktemp("checked")
    reports = folder / "Travel reports"
    reports.mkdir()
    (reports / "lake.md").write_text("# A lake in winter\n\nThe lake was frozen for ninety days.\n")
    with web_server(searxng_answer(ROWS)) as web, ModelServer() as model:
        for start in servers.running(server_template, folder / "server"):
            server = start(**stage_settings(web, model) | {"LUMINA_CHECK_ANSWERS": "on"})
            server.manage("library", "add", str(reports))
            yield server, model


@pytest.fixture
def model(checked_stage) -> ModelServer:
    return checked_stage[1]


@pytest.fixture
def open_chat(checked_stage, new_context) -> Callable[..., ChatPage]:
    server = checked_stage[0]
    cookies = [
        {"name": one.name, "value": one.value or "", "url": server.url}
        for one in server.client().cookies.jar
    ]

    def open_page(path: str = "/", **options) -> ChatPage:
        context = new_context(**options)
        context.add_cookies(cookies)
        return ChatPage(context.new_page(), server.url).open(path)

    return open_page


def plays(model: ModelServer, *gates: Gate) -> None:
    first, second = gates or (Gate(), Gate())
    if not gates:
        first.set()
        second.set()
    repairs = "last_error"
    model.play(
        searches(),
        Turn(scripted(DRAFT), after_tools=True),
        Turn(scripted(first, MENDED), when=repairs, times=1),
        Turn(scripted(second, WORSE), when=repairs, times=1),
    )


def test_a_sentence_is_replaced_and_another_is_marked_while_one_looks(open_chat, model):
    first, second = Gate(), Gate()
    plays(model, first, second)
    chat = open_chat().ask("Why does ice float?")
    expect(chat.last.get_by_role("status")).to_have_text("Mending a sentence…")
    expect(chat.answer).to_contain_text("mercury from Idria")
    expect(chat.citation(4)).to_be_visible()

    first.set()
    expect(chat.answer).to_contain_text("less dense than water")
    expect(chat.answer).not_to_contain_text("Idria")
    expect(chat.answer.locator(".unsupported")).to_have_count(0)

    second.set()
    chat.wait_for()
    mark = chat.answer.locator(".unsupported")
    expect(mark).to_have_count(1)
    expect(mark).to_be_visible()
    expect(mark).to_contain_text("not supported by its source")
    item = chat.answer.locator("li", has=chat.page.locator(".unsupported"))
    expect(item).to_contain_text("37 % of its volume")
    expect(chat.last.locator(".steps summary")).to_have_text(
        "1 search · 1 sentence mended · 1 not supported"
    )

    shown = chat.outcome()
    chat.page.reload()
    assert chat.outcome() == shown
    expect(chat.answer.locator(".unsupported")).to_be_visible()


def test_stop_works_while_a_sentence_is_mended(open_chat, model):
    never = Gate()
    plays(model, never, never)
    chat = open_chat().ask("Why does ice float?")
    expect(chat.last.get_by_role("status")).to_have_text("Mending a sentence…")
    chat.stop_button.click()
    chat.wait_for()
    expect(chat.answer).to_contain_text("mercury from Idria")
    expect(chat.answer.locator(".unsupported")).to_have_count(2)
    never.set()


def test_working_notes_open_in_their_place(open_chat, model):
    plays(model)
    chat = open_chat().ask("Why does ice float?").wait_for()
    chat.last.get_by_text("Working notes").click()
    notes = chat.last.locator(".working-notes")
    expect(notes).to_contain_text("Why does ice float?")
    expect(notes).to_contain_text("An iceberg shows 38 % of its volume")
    expect(notes.locator("dd").nth(3)).to_have_text("3")


def test_a_new_question_keeps_the_folder_and_asks_about_the_rest(open_chat, model):
    model.play(Turn(scripted("Hello.")), Turn(scripted("Good day.")), Turn(scripted("Bye.")))
    chat = open_chat()
    folder = chat.page.get_by_label("Folder of your library")
    folder.select_option("Travel reports")
    chat.page.get_by_text("Name and style").click()
    chat.page.get_by_label("Call me").fill("Ana")
    chat.ask("Hello?").wait_for()
    assert "Call the person: Ana" in model.bodies[-1]["messages"][0]["content"]

    chat.answer.click()
    chat.page.keyboard.press("n")
    keep = chat.page.get_by_label("Keep the name “Ana”")
    expect(keep).to_be_checked()
    expect(chat.turns).to_have_count(0)
    expect(folder.locator("option:checked")).to_have_text("Travel reports")
    keep.uncheck()
    chat.ask("And now?").wait_for()
    told = model.bodies[-1]["messages"][0]["content"]
    assert "Call the person" not in told
    assert "they chose alone: Travel reports" in told
    expect(keep).to_have_count(0)
    chat.ask("Bye?").wait_for()
    assert "Call the person" not in model.bodies[-1]["messages"][0]["content"]
