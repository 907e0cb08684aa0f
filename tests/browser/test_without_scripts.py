"""A browser that runs no scripts: a page can be read, a question asked and stopped."""

import pytest
from playwright.sync_api import expect

from tests.browser.stage import answers, says, searches

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.fixture
def plain(open_chat):
    return open_chat(java_script_enabled=False)


def test_a_question_is_asked_and_its_answer_read(plain, model):
    model.play(searches(), answers("Ice floats [1]."), says("Yes."))
    plain.box.fill("Why does ice float?")
    plain.page.get_by_role("button", name="Ask", exact=True).click()
    plain.wait_for()
    expect(plain.answer).to_contain_text("Ice floats")
    plain.citation(1).click()
    expect(plain.card(1)).to_be_in_viewport()
    plain.card(1).locator("summary").click()
    plain.card(1).get_by_role("link", name="The passages that were read").click()
    expect(plain.page.locator(".passage")).to_have_text("Ice is less dense than water.")
    plain.page.get_by_role("link", name="Back to the answer").click()
    plain.box.fill("Really?")
    plain.page.get_by_role("button", name="Ask", exact=True).click()
    expect(plain.wait_for().answer).to_have_text("Yes.")
    expect(plain.turns).to_have_count(2)


def test_an_answer_is_stopped(plain, model):
    model.play(says("Half of it. ", {"hang": True}))
    plain.box.fill("Why?")
    plain.page.get_by_role("button", name="Ask", exact=True).click()
    expect(plain.answer).to_contain_text("Half of it.", timeout=10_000)
    plain.last.get_by_role("button", name="Stop").click()
    plain.wait_for("stopped")
    expect(plain.last.locator(".notice")).to_contain_text("You stopped this answer.")
