"""What can be measured of how the page looks: nothing sticks out, nothing jumps."""

import pytest
from playwright.sync_api import expect

from tests.browser.stage import Gate, answers, holds, says, searches

pytestmark = [pytest.mark.browser, pytest.mark.processes]

WIDE_THINGS = (
    "| Substance | Density | Temperature | A long remark |\n|---|--:|:-:|---|\n"
    "| Ice | 0.9167 | 0 °C | it floats on top of the water around it [1] |\n\n"
    f"{'averylongword' * 20}\n\n"
    f"```python\nx = '{'long' * 60}'\n```\n\n"
    "$$a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s = t$$\n\n"
    "كثافة الجليد أقل من كثافة الماء [2].\n\n水の密度は四度で最大になります【3】。\n"
)
PARAGRAPH = "Ice floats on water. " * 12
SIZES = [(1280, 900), (390, 844)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_nothing_is_wider_than_the_window(open_chat, model, size):
    model.play(searches("why " * 60), answers(WIDE_THINGS))
    chat = open_chat(viewport={"width": size[0], "height": size[1]})
    chat.ask("Whyever" * 30).wait_for()
    chat.citation(1).click()
    expect(chat.card(1).locator(".passage")).to_be_visible()
    for path in (chat.path, "/", "/c/", "/library/1", "/sign-in/", "/c/999999/"):
        if path != chat.path:
            chat.page.goto(f"{chat.url}{path}")
        assert chat.page.evaluate("document.documentElement.scrollWidth") <= size[0], path


@pytest.fixture(autouse=True)
def _expects_the_missing_page(watch):
    watch.allow("status of 404")


def test_arabic_runs_from_the_right_among_other_paragraphs(chat, model):
    model.play(says("Ice floats.\n\nيطفو الجليد.\n"))
    chat.ask("Why?").wait_for()
    sides = chat.answer.evaluate(
        """answer => [...answer.querySelectorAll("p")].map(p => {
          const range = document.createRange();
          range.selectNodeContents(p);
          const text = range.getBoundingClientRect(), box = p.getBoundingClientRect();
          return text.left - box.left < box.right - text.right ? "left" : "right";
        })"""
    )
    assert sides == ["left", "right"]


def test_a_paragraph_that_is_closed_moves_nothing_below_it(chat, model):
    """Its height as growing text, empty lines after it included, is its height as HTML."""
    closed, done = Gate(), Gate()
    model.play(says(PARAGRAPH, "\n\n", closed, "Next ", done, "one."))
    chat.ask("Why?")
    growing = chat.answer.locator(".growing")
    expect(growing).to_contain_text("water. Ice")
    height = growing.evaluate("block => block.getBoundingClientRect().height")
    closed.set()
    expect(chat.answer.locator("p")).to_have_count(1)
    paragraph = chat.answer.locator("p").first
    assert paragraph.evaluate("p => p.getBoundingClientRect().height") == height
    done.set()
    chat.wait_for()


def test_the_page_stays_where_one_reads_while_the_answer_grows(open_chat, model):
    began, grew = Gate(), Gate()
    model.play(says(f"{PARAGRAPH}\n\n" * 2, began, f"{PARAGRAPH}\n\n" * 20, grew, "The end."))
    chat = open_chat(viewport={"width": 1280, "height": 700})
    chat.ask("Why?")
    expect(chat.answer).to_contain_text("water.")
    top = "() => document.documentElement.scrollTop"
    before = chat.page.evaluate(top)
    began.set()
    expect(chat.answer.locator("p")).to_have_count(21)
    assert chat.page.evaluate(top) == before
    chat.page.mouse.move(700, 300)
    chat.page.mouse.wheel(0, 100_000)
    at_end = "scrollY > 500 && scrollY + innerHeight >= document.body.scrollHeight - 2"
    assert holds(chat.page, at_end)
    grew.set()
    chat.wait_for()
    near_end = "scrollY + innerHeight >= document.body.scrollHeight - 41"
    assert holds(chat.page, near_end)


def test_text_that_comes_before_the_scroll_is_told_of_keeps_nobody_from_the_end(open_chat, model):
    """A scroll is told of with the next frame: what came since is below the end one went to."""
    grew = Gate()
    model.play(says(f"{PARAGRAPH}\n\n" * 20, grew, "The end."))
    chat = open_chat(viewport={"width": 1280, "height": 700})
    chat.ask("Why?")
    expect(chat.answer.locator("p")).to_have_count(19)
    chat.page.mouse.move(700, 300)
    chat.page.mouse.wheel(0, 1)
    chat.answer.evaluate(
        """answer => {
          scrollTo(0, document.body.scrollHeight);
          const more = document.createElement("p");
          more.style.height = "900px";
          answer.append(more);
        }"""
    )
    at_end = "scrollY + innerHeight >= document.body.scrollHeight - 41"
    assert holds(chat.page, at_end, 2)
    grew.set()
    chat.wait_for()


@pytest.mark.parametrize("path", ["/c/999999/", "/nowhere"])
def test_an_error_page_looks_like_the_rest(chat, path):
    response = chat.page.goto(f"{chat.url}{path}")
    assert response.status == 404
    card = chat.page.locator(".card")
    assert card.evaluate("card => getComputedStyle(card).borderRadius") != "0px"
    chat.page.get_by_role("link", name="Back to Lumina").click()
    expect(chat.box).to_be_visible()


def test_a_chosen_theme_stays(chat):
    dark = "() => getComputedStyle(document.body).backgroundColor"
    light = chat.page.evaluate(dark)
    chat.page.get_by_role("button", name="Light or dark").click()
    chosen = chat.page.evaluate(dark)
    assert chosen != light
    chat.page.reload()
    assert chat.page.evaluate(dark) == chosen
