"""One question as a person lives it: steps, a growing answer, citations, cards, a follow-up."""

import pytest
from playwright.sync_api import expect

from tests.browser.stage import Gate, answers, says, scripted, searches
from tests.servers.model_server import Turn, call

pytestmark = [pytest.mark.browser, pytest.mark.processes]

FIRST = "Ice floats because it is **less dense** than water [1].\n\nLakes "
SECOND = "freeze from above [4]. 氷は水に浮きます【3】。\n\n"
REST = "| What | Share |\n|---|--:|\n| shown | a tenth [5] |\n\n```python\nshare = arr[1]\n```\n"
FOLLOW = "<followups>\nWhy do pipes burst?\n</followups>"


def undisturbed(open_chat, model, *parts):
    """What is shown of the same script when nobody interferes."""
    model.play(searches(), answers(*parts))
    return open_chat().ask("Why does ice float?").wait_for().outcome()


def test_a_question_is_asked_watched_and_followed_up(chat, model):
    looked, wrote = Gate(), Gate()
    model.play(
        Turn(scripted(looked, *call("web_search", query="density of ice")), after_tools=False),
        answers(FIRST, wrote, SECOND, REST, FOLLOW),
    )
    chat.ask("Why does ice float?")
    expect(chat.last.get_by_role("status")).to_have_text("Thinking…")
    looked.set()
    expect(chat.last.locator(".step")).to_contain_text("Searched the web for “density of ice”")
    expect(chat.last.locator(".step")).to_contain_text("6 results")
    expect(chat.last.get_by_text("6 sources found")).to_be_visible()
    expect(chat.answer.locator("strong")).to_have_text("less dense")
    expect(chat.last.get_by_role("status")).to_have_text("Writing the answer…")
    expect(chat.answer).to_have_attribute("aria-busy", "true")

    wrote.set()
    chat.wait_for()
    expect(chat.answer).to_have_attribute("aria-busy", "false")
    expect(chat.answer.locator("table td.align-right")).to_contain_text("a tenth")
    expect(chat.last.locator(".source.used")).to_have_count(4)
    expect(chat.page).to_have_title("Why does ice float? · Lumina")
    expect(chat.page.locator("#sidebar [aria-current]")).to_have_text("Why does ice float?")

    model.play(says("It expands by a tenth.", when="pipes"))
    chat.last.get_by_role("button", name="Why do pipes burst?").click()
    expect(chat.turns).to_have_count(2)
    expect(chat.wait_for().answer).to_have_text("It expands by a tenth.")
    expect(chat.page.locator(".followups")).to_have_count(0)


def test_a_badge_shows_its_passage_on_hover_and_on_focus(chat, model):
    model.play(searches(), answers(FIRST, SECOND))
    chat.ask("Why does ice float?").wait_for()
    preview = chat.page.get_by_role("tooltip")
    chat.citation(4).hover()
    expect(preview).to_contain_text("Lakes freeze from above")
    expect(preview.locator("mark").first).to_be_visible()
    chat.page.mouse.move(0, 0)
    expect(preview).to_have_count(0)
    chat.citation(1).focus()
    expect(preview).to_contain_text("Ice is less dense than water.")
    chat.page.keyboard.press("Escape")
    expect(preview).to_have_count(0)
    expect(chat.citation(1)).to_be_focused()


def test_a_citation_opens_its_card_wherever_it_is_hidden(chat, model):
    """While the answer is written all cards are folded away; afterwards those not cited."""
    wrote = Gate()
    model.play(searches(), answers(FIRST, wrote, SECOND))
    chat.ask("Why does ice float?")
    expect(chat.card(1)).not_to_be_visible()
    chat.citation(1).click()
    expect(chat.card(1).locator(".passage")).to_have_text("Ice is less dense than water.")
    expect(chat.card(1).locator("summary")).to_be_focused()

    wrote.set()
    chat.wait_for()
    expect(chat.card(1).locator(".passage.cited mark").first).to_be_visible()
    expect(chat.card(1).locator("summary")).to_be_focused()
    expect(chat.card(6)).not_to_be_visible()
    chat.last.get_by_text("3 more found, not cited").click()
    chat.card(6).locator("summary").click()
    expect(chat.card(6).locator(".passage")).to_contain_text("frozen pipes")
    expect(chat.card(6).locator(".source-title")).to_have_text("untitled.test")


def test_a_reload_and_a_second_tab_show_what_an_undisturbed_page_shows(open_chat, model):
    plain = undisturbed(open_chat, model, FIRST, SECOND, REST, FOLLOW)
    first, second, third = Gate(), Gate(), Gate()
    parts = FIRST, first, SECOND, REST[:9], second, REST[9:40], third, REST[40:], FOLLOW
    model.play(searches(), answers(*parts))
    chat = open_chat().ask("Why does ice float?")
    expect(chat.citation(1)).to_be_visible()
    chat.page.reload()
    expect(chat.citation(1)).to_be_visible()
    first.set()
    expect(chat.answer.locator(".growing")).to_contain_text("| What")
    tab = type(chat)(chat.page.context.new_page(), chat.url).open(chat.path)
    expect(tab.answer.locator(".growing")).to_contain_text("| What")
    second.set()
    expect(tab.answer.locator(".growing")).to_contain_text("shown")
    chat.page.reload()
    expect(chat.stop_button).to_be_visible()
    third.set()
    assert chat.wait_for().outcome() == plain
    assert tab.wait_for().outcome() == plain
    tab.page.reload()
    assert tab.outcome() == plain


def test_what_a_model_wants_to_load_or_run_is_text(chat, model):
    """The watch of every page fails this test if anything is asked of another machine."""
    model.play(
        says(
            "![x](http://192.0.2.1/p.png?leak=1) [site](https://evil.example/) "
            "[run](javascript:alert(1)) <img src='http://192.0.2.1/a.png'> "
            "<script>alert(1)</script>\n\n<iframe src='http://192.0.2.1/'></iframe>\n"
        )
    )
    chat.ask("Leak this").wait_for()
    assert chat.answer.locator("img, script, iframe, a[href]").count() == 0
    expect(chat.answer).to_contain_text("<script>alert(1)</script>")
    chat.page.reload()
    assert chat.answer.locator("img, script, iframe, a[href]").count() == 0


def test_code_can_be_copied_however_it_came(open_chat, model):
    model.play(says("```python\nx = arr[1]\n```\n"))
    chat = open_chat(permissions=["clipboard-read", "clipboard-write"])
    chat.ask("Code, please").wait_for()
    for _ in range(2):
        button = chat.answer.get_by_role("button", name="Copy the python code")
        expect(button).to_have_count(1)
        button.click()
        expect(button).to_have_text("Copied")
        assert chat.page.evaluate("navigator.clipboard.readText()") == "x = arr[1]\n"
        chat.page.reload()


def test_an_answer_is_copied_with_its_numbers(open_chat, model):
    model.play(searches(), answers("Ice floats [1][2]."))
    chat = open_chat(permissions=["clipboard-read", "clipboard-write"])
    chat.ask("Why?").wait_for()
    chat.last.get_by_role("button", name="Copy").click()
    expect(chat.page.locator("#said")).to_have_text("Copied")
    assert chat.page.evaluate("navigator.clipboard.readText()").strip() == "Ice floats [1][2]."
