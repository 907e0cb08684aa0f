"""What the model saw, in a real browser: looked at, packed again by mouse and by keys, compared."""

import re

import pytest
from playwright.sync_api import expect

from tests import lumina_server as servers
from tests.browser.stage import ROWS, ChatPage, Gate, answers, says, searches, stage_settings
from tests.servers.model_server import ModelServer
from tests.servers.search import searxng_answer
from tests.servers.web import web_server

pytestmark = [pytest.mark.browser, pytest.mark.processes]

SIZES = [(1280, 900), (390, 844)]
SMALL = {
    "LUMINA_HISTORY_TOKENS": "700",
    "LUMINA_WINDOW_MESSAGES": "4",
    "LUMINA_WINDOW_SHARE": "0.5",
}
TALK = (
    ("What should I cook tonight?", "A soup of leeks and potatoes would do. " * 20),
    ("How long does it take?", "About forty minutes, most of it waiting. " * 20),
    ("And for dessert?", "Baked apples with a little cinnamon. " * 20),
)
QUESTION = "At how many degrees is water densest?"


@pytest.fixture(scope="module")
def long_talk(browser, server_template, tmp_path_factory):
    """A server of its own, its model, the session, and a talk whose beginning has left the
    window."""
    folder = tmp_path_factory.mktemp("inspect")
    with web_server(searxng_answer(ROWS)) as web, ModelServer() as model:
        for start in servers.running(server_template, folder):
            server = start(**stage_settings(web, model), **SMALL)
            cookies = [
                {"name": one.name, "value": one.value or "", "url": server.url}
                for one in server.client().cookies.jar
            ]
            context = browser.new_context()
            context.add_cookies(cookies)
            chat = ChatPage(context.new_page(), server.url).open()
            model.play(searches(), answers("Ice floats because it is less dense [1]."))
            chat.ask("Why does ice float?").wait_for()
            for question, answer in TALK:
                model.play(says(answer))
                chat.ask(question).wait_for()
            model.play(says("At four degrees [1]."))
            chat.ask(QUESTION).wait_for()
            turn = chat.last.get_by_role("link", name="What the model saw").get_attribute("href")
            path = chat.path
            context.close()
            yield server, model, cookies, path, turn


@pytest.fixture
def open_turn(long_talk, new_context):
    """Opens the page of the talk's last turn."""
    server, _, cookies, _, turn = long_talk

    def open_page(query: str = "", **options):
        context = new_context(**options)
        context.add_cookies(cookies)
        page = context.new_page()
        page.goto(f"{server.url}{turn}{query}")
        return page

    return open_page


def slider_of(page):
    return page.get_by_role("slider", name="A budget of")


def test_every_answer_leads_to_what_the_model_saw(long_talk, new_context):
    server, _, cookies, path, _ = long_talk
    context = new_context()
    context.add_cookies(cookies)
    chat = ChatPage(context.new_page(), server.url).open(path)
    chat.last.get_by_role("link", name="What the model saw").click()
    page = chat.page
    expect(page.get_by_role("heading", name="What the model saw")).to_be_visible()
    older = page.locator("#older")
    expect(older.locator(".kind-page").first).to_contain_text("Web page")
    expect(older).to_contain_text("Water is densest at four degrees Celsius.")
    line = older.locator(".line", has_text="densest at four degrees")
    expect(line.locator(".why")).to_contain_text("densest")
    expect(line.locator(".why")).to_have_text(re.compile(r"score \d+\.\d{4}, by words"))
    older.get_by_role("link", name="Density").click()
    expect(page.locator(".passage").first).to_contain_text("densest at four")
    page.go_back()
    page.get_by_role("link", name="Back to the answer").click()
    expect(chat.last.locator(".question-text")).to_be_in_viewport()


def test_a_whole_message_opens_by_a_key(open_turn):
    page = open_turn()
    whole = page.locator("#window details").first
    text = whole.locator(".seen-text")
    expect(text).to_be_hidden()
    whole.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(text).to_be_visible()


def test_the_slider_packs_again_while_the_mouse_moves_it(open_turn):
    page = open_turn()
    slider, compared = slider_of(page), page.locator("[data-compared]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.17, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.04, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    summary = compared.locator("[data-summary]")
    expect(summary).to_have_text(re.compile(r"With \d+ tokens .* go out"))
    expect(compared.locator(".is-out").first).to_contain_text("− goes out")
    expect(page.locator("[data-said]")).to_have_text(summary.text_content())
    assert "budget=" in page.url
    budget = slider.input_value()
    page.reload()
    expect(slider_of(page)).to_have_value(budget)
    expect(page.locator("[data-summary]")).to_contain_text(f"With {int(budget):,} tokens")


def test_the_slider_works_by_keys_alone_and_keeps_the_focus(open_turn):
    page = open_turn("?budget=100")
    compared = page.locator("[data-compared]")
    page.locator("#compare h2").scroll_into_view_if_needed()
    slider = slider_of(page)
    for _ in range(200):
        page.keyboard.press("Tab")
        if slider.evaluate("slider => slider === document.activeElement"):
            break
    expect(slider).to_be_focused()
    page.keyboard.press("End")
    most = slider.get_attribute("max")
    expect(slider).to_have_attribute("aria-valuetext", f"{int(most):,} tokens")
    expect(compared.locator("[data-summary]")).to_contain_text(f"With {int(most):,} tokens")
    expect(slider).to_be_focused()
    page.keyboard.press("Home")
    expect(compared.locator("[data-summary]")).to_contain_text("With 0 tokens")
    page.keyboard.press("ArrowRight")
    step = slider.get_attribute("step")
    expect(compared.locator("[data-summary]")).to_contain_text(f"With {step} tokens")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Compare with newest only")).to_be_focused()
    page.keyboard.press("Enter")
    expect(compared.get_by_role("heading", name="Newest only")).to_be_visible()
    expect(page.locator("[data-said]")).to_contain_text("would have missed")


def test_the_newest_only_stands_beside_what_was_chosen(open_turn):
    page = open_turn(viewport={"width": 1280, "height": 900})
    page.get_by_role("button", name="Compare with newest only").click()
    columns = page.locator(".columns > section")
    expect(columns).to_have_count(2)
    expect(columns.first).to_contain_text("densest at four degrees")
    expect(columns.last).not_to_contain_text("densest at four degrees")
    expect(columns.first.locator(".is-alone").first).to_contain_text("only here")
    left, right = (columns.nth(at).bounding_box() for at in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_a_slow_answer_for_an_old_place_of_the_slider_is_not_shown(open_turn):
    """The page shows what the slider says, whichever answer comes last."""
    page = open_turn()
    slider = slider_of(page)
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(260)
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(60)
    budget = int(slider.input_value())
    expect(page.locator("[data-summary]")).to_contain_text(f"With {budget:,} tokens")
    page.wait_for_timeout(400)
    expect(page.locator("[data-summary]")).to_contain_text(f"With {budget:,} tokens")


def test_a_server_that_is_away_is_said_and_the_slider_stays(open_turn, watch):
    watch.allow("Failed to load resource|net::ERR")
    page = open_turn()
    page.route("**/turns/**", lambda route: route.abort())
    slider = slider_of(page)
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("[data-said]")).to_contain_text("could not be packed again")
    page.unroute("**/turns/**")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-summary]")).to_contain_text("With")


def test_it_is_packed_again_and_compared_without_scripts(open_turn):
    page = open_turn(java_script_enabled=False)
    slider = slider_of(page)
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Pack again").click()
    expect(page.locator("[data-summary]")).to_contain_text("With 0 tokens")
    page.get_by_role("button", name="Compare with newest only").click()
    expect(page.get_by_role("heading", name="Newest only")).to_be_visible()


def test_a_budget_out_of_range_says_which_are_possible(open_turn, watch):
    watch.allow("status of 400")
    page = open_turn("?budget=99999999")
    expect(page.get_by_role("alert")).to_have_text(
        re.compile(r"Choose a budget between 0 and [\d,]+ tokens.")
    )
    expect(slider_of(page)).to_be_visible()


def test_a_running_turn_can_be_looked_at(long_talk, new_context):
    server, model, cookies, _, _ = long_talk
    context = new_context()
    context.add_cookies(cookies)
    chat = ChatPage(context.new_page(), server.url).open()
    going_on = Gate()
    model.play(says("Half of it. ", going_on, "The rest."))
    chat.ask("How is bread made?")
    expect(chat.answer).to_contain_text("Half of it.")
    address = chat.last.get_by_role("link", name="What the model sees").get_attribute("href")
    other = context.new_page()
    other.goto(f"{server.url}{address}")
    expect(other.get_by_text("The turn is still going on.")).to_be_visible()
    expect(other.locator("#window")).to_contain_text("This was the first question.")
    going_on.set()
    chat.wait_for()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("query", ["", "?budget=100", "?compare=newest"])
def test_nothing_on_the_page_of_a_turn_is_wider_than_the_window(open_turn, size, query):
    page = open_turn(query, viewport={"width": size[0], "height": size[1]})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_an_operator_goes_from_the_admin_to_a_turn(long_talk, new_context, size):
    server, _, cookies, path, turn = long_talk
    context = new_context(viewport={"width": size[0], "height": size[1]})
    context.add_cookies(cookies)
    page = context.new_page()
    page.goto(f"{server.url}/admin/chat/conversation/")
    page.get_by_role("link", name=f"Conversation {path.strip('/c')}", exact=True).click()
    expect(page.get_by_role("heading", name="Turns: what the model saw")).to_be_visible()
    number = turn.strip("/").split("/")[-1]
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.get_by_role("link", name=f"Turn {number}", exact=True).click()
    expect(page.get_by_role("heading", name=f"Turn {number}: what the model saw")).to_be_visible()
    slider_of(page).focus()
    page.keyboard.press("Home")
    expect(page.locator("[data-summary]")).to_contain_text("With 0 tokens")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.get_by_role("link", name="Admin: conversation").click()
    expect(page.get_by_role("heading", name="Turns: what the model saw")).to_be_visible()
