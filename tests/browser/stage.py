"""What the tests of the page play on: gated scripts for the model, and a page with its verbs."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.servers.model_server import ModelServer, Turn, call
from tests.servers.search import Row
from tests.servers.web import WebServer

ROWS = [
    Row("Why ice floats", "https://www.physics.test/ice", "Ice is less dense than water."),
    Row("Density", "https://water.test/density", "Water is densest at four degrees Celsius."),
    Row("氷", "https://koori.test/a", "氷の密度は水より小さいため、氷は水に浮きます。"),
    Row("Lakes", "https://lakes.test/winter", "Lakes freeze from above, so fish survive."),
    Row("Icebergs", "https://sea.test/bergs", "An iceberg shows a tenth of its volume."),
    Row("", "https://untitled.test/x", "A page without a title about frozen pipes."),
]
# What differs from run to run in the HTML of a turn.
_NAMES = [
    (re.compile(r"\bm\d+-"), "m-"),
    (re.compile(r"/runs/\d+/"), "/runs/N/"),
    (re.compile(r"\b(answer|sources|ending|steps)-\d+"), r"\1-N"),
]


def holds(page: Page, condition: str, seconds: float = 10.0) -> bool:
    """Whether a JavaScript expression becomes true.

    Asked from outside again and again: Playwright's own waiting evaluates inside of the page, which
    the content policy forbids.
    """
    return becomes(page, lambda: page.evaluate(condition), seconds)


def becomes(page: Page, condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether something becomes true while the page goes on."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        page.wait_for_timeout(20)
    return True


def stage_settings(web: WebServer, model: ModelServer) -> dict[str, str]:
    return {
        "LUMINA_WEB": "on",
        "LUMINA_SEARCH_PROVIDERS": "searxng",
        "LUMINA_SEARXNG_URL": web.url,
        "LUMINA_MODEL_URL": model.url,
        "LUMINA_MODEL": "scripted",
        # Scripted answers are seldom written from their sources; who tests the check turns it on.
        "LUMINA_CHECK_ANSWERS": "off",
    }


class Gate(threading.Event):
    """A place in a model's script where it waits until the test has seen enough."""

    def cues(self) -> Iterator[Mapping[str, Any]]:
        while not self.is_set():
            yield {"pause": 0.02}


def scripted(*parts: Gate | str | Mapping[str, Any]) -> Callable[[dict], Iterator[Mapping]]:
    """A reply in parts: a text as one piece, any other cue as it is, a gate waits."""

    def reply(body: dict) -> Iterator[Mapping]:
        for part in parts:
            if isinstance(part, Gate):
                yield from part.cues()
            else:
                yield {"text": part} if isinstance(part, str) else part

    return reply


def searches(query: str = "why does ice float", **options: Any) -> Turn:
    """The model's first step in a turn: one search of the web."""
    return Turn(call("web_search", query=query), after_tools=False, **options)


def answers(*parts: Gate | str | Mapping[str, Any], **options: Any) -> Turn:
    return Turn(scripted(*parts), **{"when": ".", "after_tools": True, **options})


def says(*parts: Gate | str | Mapping[str, Any], when: str = ".", **options: Any) -> Turn:
    """A turn that is answered at once, without a search."""
    return Turn(scripted(*parts), when=when, **options)


class ChatPage:
    """A page of Lumina, seen and used as a person does."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    def open(self, path: str = "/") -> ChatPage:
        self.page.goto(f"{self.url}{path}")
        expect(self.box).to_be_visible()
        return self

    @property
    def path(self) -> str:
        return self.page.url.removeprefix(self.url)

    @property
    def box(self) -> Locator:
        return self.page.get_by_label("Your question")

    @property
    def turns(self) -> Locator:
        return self.page.locator(".turn")

    @property
    def last(self) -> Locator:
        return self.turns.last

    @property
    def answer(self) -> Locator:
        return self.last.locator(".answer")

    @property
    def stop_button(self) -> Locator:
        return self.page.get_by_role("button", name="Stop the answer")

    @property
    def error(self) -> Locator:
        return self.page.locator("#composer-error")

    def ask(self, question: str) -> ChatPage:
        expect(self.page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
        self.box.fill(question)
        self.box.press("Enter")
        return self

    def wait_for(self, status: str = "complete", *, seconds: float = 15) -> ChatPage:
        expect(self.last).to_have_attribute("data-status", status, timeout=seconds * 1_000)
        return self

    def citation(self, number: int) -> Locator:
        return self.answer.locator(f'a.citation[data-source="{number}"]').first

    def card(self, number: int) -> Locator:
        return self.last.locator(f'.source[data-number="{number}"]')

    def outcome(self) -> dict[str, Any]:
        """What is shown of the newest turn, without what differs from run to run."""
        found = self.last.evaluate(_OUTCOME)
        for name in ("html", "sources"):
            for pattern, plain in _NAMES:
                found[name] = pattern.sub(plain, found[name])
        return found


# Blocks are how an answer arrives, buttons and the keyboard's stops what scripts add to it.
_OUTCOME = """turn => {
  const answer = turn.querySelector(".answer").cloneNode(true);
  for (const block of answer.querySelectorAll(".block")) block.replaceWith(...block.childNodes);
  const sources = turn.querySelector(".sources").cloneNode(true);
  for (const added of answer.querySelectorAll(".copy-code")) added.remove();
  for (const box of answer.querySelectorAll("[tabindex]")) box.removeAttribute("tabindex");
  for (const badge of answer.querySelectorAll("[aria-describedby]"))
    badge.removeAttribute("aria-describedby");
  return {
    status: turn.dataset.status,
    question: turn.querySelector(".question-text").textContent,
    text: answer.textContent.trim(),
    citations: [...answer.querySelectorAll(".citation")].map(a => [a.dataset.source, a.ariaLabel]),
    html: answer.innerHTML.trim(),
    sources: sources.innerHTML,
  };
}"""
