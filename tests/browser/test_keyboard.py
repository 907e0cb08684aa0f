"""The page without a mouse, and as a screen reader hears it."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.browser.stage import Gate, answers, says, searches

pytestmark = [pytest.mark.browser, pytest.mark.processes]

NARROW = {"viewport": {"width": 390, "height": 844}}


def focused(chat) -> str:
    """What a screen reader would call the focused control, more or less."""
    return chat.page.evaluate(
        "() => { const e = document.activeElement; return e.ariaLabel || e.labels?.[0]?.innerText"
        " || e.innerText || e.textContent.trim() }"
    ).strip()


def test_the_first_stop_leads_past_the_list_to_the_conversation(chat):
    chat.page.locator("body").evaluate("body => { body.tabIndex = -1; body.focus() }")
    chat.page.keyboard.press("Tab")
    assert focused(chat) == "Skip to the conversation"
    chat.page.keyboard.press("Enter")
    chat.page.keyboard.press("Tab")
    assert focused(chat) == "Why does ice float?"


def test_a_slash_leads_to_the_box_and_is_a_slash_within_it(chat):
    chat.box.blur()
    chat.page.keyboard.press("/")
    expect(chat.box).to_be_focused()
    expect(chat.box).to_have_value("")
    chat.page.keyboard.press("/")
    expect(chat.box).to_have_value("/")


def test_shift_enter_writes_a_new_line(chat, model):
    model.play(says("Yes."))
    chat.box.press_sequentially("One")
    chat.box.press("Shift+Enter")
    chat.box.press_sequentially("two")
    expect(chat.box).to_have_value("One\ntwo")
    chat.box.press("Enter")
    expect(chat.wait_for().last.locator(".question-text")).to_have_text("One\ntwo")


def test_enter_that_confirms_a_composition_does_not_send(chat, model):
    model.play(says("はい。"))
    devtools = chat.page.context.new_cdp_session(chat.page)
    chat.box.focus()
    devtools.send(
        "Input.imeSetComposition", {"text": "こおり", "selectionStart": 3, "selectionEnd": 3}
    )
    chat.page.keyboard.press("Enter")
    expect(chat.turns).to_have_count(0)
    expect(chat.box).to_have_value(re.compile("こおり"))
    chat.box.fill("氷はなぜ浮くの")
    chat.box.press("Enter")
    expect(chat.wait_for().last.locator(".question-text")).to_have_text("氷はなぜ浮くの")


def test_every_control_can_be_reached_and_has_a_name(chat, model):
    model.play(searches(), answers("Ice floats [1].\n\n```python\nx = 1\n```\n"))
    chat.ask("Why?").wait_for()
    unnamed = chat.page.evaluate(
        """() => [...document.querySelectorAll("a[href], button, input, textarea, summary")]
          .filter(e => e.checkVisibility() && e.type !== "hidden")
          .filter(e => !(e.ariaLabel || e.labels?.length || e.textContent.trim()))
          .map(e => e.outerHTML)"""
    )
    assert unnamed == []
    chat.page.locator("body").evaluate("body => { body.tabIndex = -1; body.focus() }")
    seen = []
    for _ in range(300):
        chat.page.keyboard.press("Tab")
        ring = chat.page.evaluate(
            "() => [document.activeElement, document.activeElement.closest('.composer')]"
            ".some(e => e && getComputedStyle(e).outlineStyle !== 'none')"
        )
        seen.append(focused(chat))
        assert ring, f"no visible focus on {seen[-1]!r}"
        if chat.box.evaluate("box => box === document.activeElement"):
            break
    names = " | ".join(seen)
    for name in (
        "New question",
        "Edit this question",
        "Source 1: ",
        "Copy the python code",
        "Copy",
    ):
        assert name in names
    assert names.index("Source 1: ") < names.index("Copy the python code")


def test_opening_and_closing_the_edit_form_keeps_the_focus(chat, model):
    model.play(says("Yes."))
    chat.ask("Why?").wait_for()
    pencil = chat.last.locator(".edit summary")
    pencil.focus()
    chat.page.keyboard.press("Enter")
    expect(chat.last.get_by_label("The question, edited")).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(pencil).to_be_focused()
    expect(chat.last.get_by_label("The question, edited")).to_be_hidden()


def test_an_opened_card_and_its_focus_outlive_the_end_of_the_answer(chat, model):
    wrote = Gate()
    model.play(searches(), answers("Ice floats [1].\n\nLakes ", wrote, "freeze from above [4]."))
    chat.ask("Why?")
    chat.citation(1).focus()
    chat.page.keyboard.press("Enter")
    expect(chat.card(1).locator("summary")).to_be_focused()
    wrote.set()
    chat.wait_for()
    expect(chat.card(1).locator("summary")).to_be_focused()
    expect(chat.card(1).locator(".passage")).to_be_visible()


def test_the_list_is_a_drawer_on_a_narrow_window(open_chat, model):
    model.play(says("Yes."))
    chat = open_chat(**NARROW)
    chat.ask("Why the drawer?").wait_for()
    button = chat.page.get_by_role("button", name="Conversations")
    button.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(chat.page.locator("#sidebar").get_by_role("link", name="New question")).to_be_focused()
    chat.page.locator(".item-menu summary").first.press("Enter")
    expect(chat.page.get_by_role("textbox", name="Name").first).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator(".item-menu summary").first).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(button).to_be_focused()
    expect(chat.page.locator("#sidebar")).to_be_hidden()


def test_headings_go_down_one_level_at_a_time(chat, model):
    model.play(searches(), answers("Ice floats [1]."))
    chat.ask("Why?").wait_for()
    levels = chat.page.evaluate(
        "() => [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
