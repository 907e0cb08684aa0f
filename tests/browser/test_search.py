"""Searching and deleting in a real browser: found, opened at its place, gone."""

import pytest
from playwright.sync_api import expect

from tests.browser.stage import ChatPage, answers, says, searches

pytestmark = [pytest.mark.browser, pytest.mark.processes]

SIZES = [(1280, 900), (390, 844)]


def told(chat: ChatPage, model, question: str, answer: str) -> ChatPage:
    model.play(says(answer))
    return chat.ask(question).wait_for()


def look_for(page, words: str) -> None:
    page.get_by_label("Words to look for").fill(words)
    page.get_by_role("button", name="Search").click()


def test_what_was_said_is_found_and_opened_where_it_was_said(chat: ChatPage, model):
    told(chat, model, "What is a wombatine?", "A small wombatine animal.")
    told(chat, model, "And where does it live?", "In Tasmania.")
    page = chat.page
    page.get_by_role("link", name="Search").click()
    expect(page.get_by_label("Words to look for")).to_be_focused()
    look_for(page, "wombatine")
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator(".hit mark").first).to_have_text("wombatine")
    page.locator(".hit", has_text="A small").get_by_role("link").click()
    expect(chat.turns).to_have_count(2)
    expect(chat.turns.first).to_be_in_viewport()
    assert "#turn-" in page.url


def test_a_question_asked_from_a_found_version_follows_that_version(chat: ChatPage, model):
    told(chat, model, "Old quollish question?", "An old answer.")
    chat.last.get_by_title("Edit this question").click()
    box = chat.last.get_by_label("The question, edited")
    box.fill("New question?")
    model.play(says("A new answer."))
    chat.last.get_by_role("button", name="Ask again").click()
    expect(chat.answer).to_have_text("A new answer.")
    chat.wait_for()
    page = chat.page
    page.goto(f"{chat.url}/search/?q=quollish")
    page.locator(".hit").first.get_by_role("link").click()
    expect(page.get_by_text("another version")).to_be_visible()
    expect(chat.answer).to_have_text("An old answer.")
    told(chat, model, "Really?", "Yes, really.")
    expect(chat.turns.first.locator(".question-text")).to_have_text("Old quollish question?")
    page.reload()
    expect(chat.turns).to_have_count(2)


def test_a_key_leads_to_the_search_from_everywhere(chat: ChatPage):
    page = chat.page
    chat.box.press("Control+k")
    expect(page.get_by_label("Words to look for")).to_be_focused()
    page.goto(f"{chat.url}/search/?q=nothing+that+was+ever+zzz")
    expect(page.get_by_text("Nothing that was said")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Words to look for")).to_be_focused()


def test_search_and_deletion_work_without_scripts(open_chat, model):
    scripted = open_chat()
    told(scripted, model, "What is a numbatling?", "A young numbat.")
    told(scripted, model, "And how big?", "Small.")
    page = open_chat(java_script_enabled=False).page
    page.get_by_role("link", name="Search").click()
    look_for(page, "numbatling")
    page.get_by_text("Narrow it down").click()
    page.get_by_label("Said by").select_option("You")
    look_for(page, "numbatling")
    expect(page.locator(".hit")).to_have_count(1)
    page.locator(".hit").get_by_role("link").click()
    page.locator(".turn").first.get_by_role("link", name="Delete this question").click()
    expect(page.get_by_text("1 answer to it")).to_be_visible()
    page.get_by_role("link", name="Keep it").click()
    page.locator(".turn").first.get_by_role("link", name="Delete this question").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".question-text")).to_have_text("And how big?")
    page.goto(f"{scripted.url}/search/?q=numbatling")
    expect(page.locator(".hit")).to_have_count(0)


def test_an_answer_is_deleted_with_its_sources(chat: ChatPage, model):
    model.play(searches(), answers("Ice floats [1]."))
    chat.ask("Why does ice float?").wait_for()
    page = chat.page
    chat.last.get_by_role("link", name="Delete this answer").click()
    expect(page.get_by_text("6 sources")).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("This question has no answer.")).to_be_visible()
    told(chat, model, "Again?", "Yes.")
    expect(chat.turns).to_have_count(2)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_nothing_of_it_is_wider_than_the_window(open_chat, model, size):
    chat = open_chat(viewport={"width": size[0], "height": size[1]})
    told(chat, model, f"{'potoroo' * 40} potoroo?", f"`{'y' * 300}` potoroo {'x' * 300}")
    page = chat.page
    wide = "document.documentElement.scrollWidth"
    page.goto(f"{chat.url}/search/?q=potoroo+{'z' * 90}&role=user")
    expect(page.locator(".hit").first).to_be_visible()
    assert page.evaluate(wide) <= size[0]
    page.locator(".hit").first.get_by_role("link").click()
    page.get_by_role("link", name="Delete this question").click()
    expect(page.get_by_role("button", name="Delete", exact=True)).to_be_visible()
    assert page.evaluate(wide) <= size[0]
