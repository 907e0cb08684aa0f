"""Stop, send again, reload, leave and come back, edit, regenerate, continue: nothing is lost or
doubled."""

import pytest
from playwright.sync_api import expect

from tests.browser.stage import ChatPage, Gate, answers, says, searches

pytestmark = [pytest.mark.browser, pytest.mark.processes]

HANG = {"hang": True}
CUT = {"finish": "length"}


def in_another_tab(chat: ChatPage) -> ChatPage:
    return ChatPage(chat.page.context.new_page(), chat.url).open(chat.path)


def begun_answer(chat: ChatPage, text: str) -> ChatPage:
    """An answer that is being written, up to that text."""
    expect(chat.answer).to_contain_text(text)
    expect(chat.stop_button).to_be_visible()
    return chat


def test_stop_works_by_keyboard_and_leaves_the_focus_in_the_box(chat, model):
    model.play(says("Half of it is here. ", HANG))
    begun_answer(chat.ask("Why?"), "Half of it")
    expect(chat.box).to_be_focused()
    chat.page.keyboard.press("Tab")
    expect(chat.stop_button).to_be_focused()
    chat.page.keyboard.press("Enter")
    chat.wait_for("stopped")
    expect(chat.box).to_be_focused()
    expect(chat.answer).to_have_text("Half of it is here.")
    expect(chat.last.locator(".notice")).to_contain_text("You stopped this answer.")
    expect(chat.page.locator("#said")).to_contain_text("You stopped this answer.")


def test_stop_then_send_at_once_keeps_the_partial_answer_and_the_order(chat, model):
    model.play(says("Half of it. ", HANG, when="First"), says("Second answer.", when="Second"))
    begun_answer(chat.ask("First?"), "Half of it")
    chat.stop_button.click()
    chat.ask("Second?").wait_for()
    expect(chat.page.locator(".question-text")).to_have_text(["First?", "Second?"])
    expect(chat.page.locator(".answer")).to_have_text(["Half of it.", "Second answer."])
    chat.page.reload()
    expect(chat.page.locator(".answer")).to_have_text(["Half of it.", "Second answer."])


def test_stop_before_the_first_token_leaves_one_copy_of_the_question(chat, model):
    model.play(says(HANG, when="Never"))
    chat.ask("Never answered?")
    chat.stop_button.click()
    chat.wait_for("stopped")
    expect(chat.page.get_by_role("heading", name="Never answered?", level=2)).to_have_count(1)
    chat.page.reload()
    expect(chat.page.get_by_role("heading", name="Never answered?", level=2)).to_have_count(1)
    expect(chat.last.get_by_role("button", name="Try again")).to_be_visible()


def test_stop_while_the_model_is_still_reasoning_leaves_the_box_usable(chat, model):
    model.play(
        says({"reasoning": "Hm, let me think"}, HANG, when="Hard"), says("Yes.", when="Easy")
    )
    chat.ask("Hard?")
    expect(chat.last.get_by_text("Thinking…")).to_be_visible()
    chat.stop_button.focus()
    chat.page.keyboard.press("Enter")
    chat.wait_for("stopped")
    expect(chat.ask("Easy?").wait_for().answer).to_have_text("Yes.")


def test_a_double_click_on_ask_does_not_stop_the_answer(chat, model):
    model.play(says("Yes."))
    chat.box.fill("Twice?")
    chat.page.get_by_role("button", name="Ask", exact=True).dblclick()
    expect(chat.wait_for().answer).to_have_text("Yes.")


def test_a_draft_survives_a_reload_while_an_answer_is_written(chat, model):
    model.play(says("Half of it. ", HANG))
    begun_answer(chat.ask("Why?"), "Half of it")
    chat.box.press_sequentially("My next question")
    chat.page.reload()
    expect(chat.box).to_have_value("My next question")
    begun_answer(chat, "Half of it")
    chat.page.keyboard.press("Escape")
    chat.open("/")
    expect(chat.box).to_have_value("")


def test_enter_while_an_answer_is_written_keeps_the_text_and_says_why(chat, model):
    model.play(says("Half of it. ", HANG))
    begun_answer(chat.ask("Why?"), "Half of it")
    chat.box.fill("And then?")
    chat.box.press("Enter")
    expect(chat.error).to_contain_text("still being written")
    expect(chat.box).to_have_value("And then?")
    expect(chat.turns).to_have_count(1)


def test_a_question_in_the_address_fills_the_box_and_asks_nothing(open_chat):
    chat = open_chat("/?q=Why%20does%20ice%20float%3F")
    for _ in range(2):
        expect(chat.box).to_have_value("Why does ice float?")
        expect(chat.turns).to_have_count(0)
        chat.page.reload()


def test_a_conversation_that_one_comes_back_to_still_moves(chat, model):
    wrote = Gate()
    model.play(says("One, ", wrote, "two.", when="Count"), says("Hello.", when="Hello"))
    begun_answer(chat.ask("Count?"), "One,")
    chat.page.get_by_role("link", name="New question").first.click()
    expect(chat.ask("Hello?").wait_for().answer).to_have_text("Hello.")
    chat.page.locator("#sidebar").get_by_role("link", name="Count?").click()
    begun_answer(chat, "One,")
    wrote.set()
    expect(chat.wait_for().answer).to_have_text("One, two.")


def test_two_tabs_stay_in_step(chat, model):
    model.play(says("First answer.", when="First"), says("Second answer.", when="Second"))
    chat.ask("First?").wait_for()
    tab = in_another_tab(chat)
    chat.ask("Second?").wait_for()
    expect(tab.wait_for().answer).to_have_text("Second answer.")
    tab.last.get_by_role("button", name="New answer").click()
    for page in (tab, chat):
        expect(page.last.get_by_text("2/2")).to_be_visible()
        expect(page.turns).to_have_count(2)


def test_a_tab_that_shows_another_version_loads_the_one_that_is_asked_in(chat, model):
    model.play(says("Old.", when="First", times=1), says("New.", when="First"), says("Yes."))
    chat.ask("First?").wait_for()
    chat.last.get_by_role("button", name="New answer").click()
    expect(chat.answer).to_have_text("New.")
    tab = in_another_tab(chat.wait_for())
    chat.last.get_by_role("button", name="Older version").click()
    expect(chat.answer).to_have_text("Old.")
    chat.ask("Then?").wait_for()
    expect(tab.turns).to_have_count(2)
    expect(tab.page.locator(".answer")).to_have_text(["Old.", "Yes."])


def test_a_suggestion_while_an_answer_is_written_is_refused_kindly(chat, model):
    model.play(
        says("Yes.\n<followups>\nAnd then?\n</followups>", when="First"),
        says("Half of it. ", HANG, when="Second"),
    )
    chat.ask("First?").wait_for()
    tab = in_another_tab(chat)
    suggestion = tab.last.get_by_role("button", name="And then?")
    # The click is on its way while the other tab's question is already being answered.
    suggestion.evaluate("button => { window.form = button.form.cloneNode(true) }")
    begun_answer(chat.ask("Second?"), "Half of it")
    begun_answer(tab, "Half of it")
    tab.page.evaluate("document.querySelector('#turns').append(form); form.requestSubmit()")
    expect(tab.error).to_contain_text("still being written")
    expect(tab.box).to_have_value("And then?")
    expect(tab.page.locator(".question-text")).to_have_text(["First?", "Second?"])


def test_a_question_is_edited_and_the_older_version_is_an_arrow_away(chat, model):
    model.play(says("About ice.", when="ice"), says("About fire.", when="fire"))
    chat.ask("Why ice?").wait_for()
    chat.last.locator(".edit summary").click()
    edited = chat.last.get_by_label("The question, edited")
    expect(edited).to_be_focused()
    edited.fill("Why fire?")
    chat.last.get_by_role("button", name="Ask again").click()
    expect(chat.wait_for().answer).to_have_text("About fire.")
    expect(chat.page.locator(".question-text")).to_have_text(["Why fire?"])
    chat.last.get_by_role("button", name="Older version").click()
    expect(chat.page.locator(".question-text")).to_have_text(["Why ice?"])
    expect(chat.answer).to_have_text("About ice.")
    chat.last.get_by_role("button", name="Newer version").click()
    expect(chat.answer).to_have_text("About fire.")


def test_a_cut_answer_goes_on_where_it_ended(chat, model):
    model.play(
        searches(),
        answers("Ice floats [1]. And lakes", CUT, times=1),
        says(" freeze from above [4].", when="."),
    )
    chat.ask("Why?").wait_for("truncated")
    chat.last.get_by_role("button", name="Continue").click()
    chat.wait_for()
    expect(chat.answer.locator(".citation-number")).to_have_text(["1", "4"])
    expect(chat.answer).to_contain_text("And lakes freeze from above")
    expect(chat.turns).to_have_count(1)


def test_a_failed_answer_says_what_to_do_and_can_be_tried_again(chat, model):
    model.play(
        says({"status": 500, "body": {"error": {"message": "out of memory"}}}, times=1),
        says("Now it works."),
    )
    chat.ask("Why?").wait_for("failed")
    expect(chat.last.locator(".notice")).to_contain_text("out of memory")
    chat.last.get_by_role("button", name="Try again").click()
    expect(chat.wait_for().answer).to_have_text("Now it works.")
    expect(chat.page.locator("lumina-composer :focus")).to_have_count(1)


def test_a_refused_question_comes_back_into_the_box(chat):
    chat.box.evaluate("box => box.removeAttribute('maxlength')")
    chat.ask("x" * 20_001)
    expect(chat.error).to_contain_text("The question has 20,001 characters")
    expect(chat.box).to_have_value("x" * 20_001)
    expect(chat.turns).to_have_count(0)
