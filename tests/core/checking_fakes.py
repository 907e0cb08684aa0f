"""A checker that knows one forbidden word, and a turn that is checked with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chat.agent.checking import Checking
from chat.agent.events import AgentEvent, SentenceReplaced
from chat.agent.tools import Toolbox
from chat.agent.values import SearchResult, Source
from chat.support import RenderedCitations
from tests.core.fakes import FakeSearcher, ScriptedModel, answer_of, events_of, say, search

WRONG = "heavier"
DRAFT = "Ice is **heavier** than water [1]. It floats [1].\n"


class WordWatcher:
    """Finds fault with every sentence that holds the word."""

    def __init__(self, word: str = WRONG) -> None:
        self._word = word
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    async def problem(self, claim: str, cited: Sequence[Source], *, context: str) -> str:
        self.asked.append((claim, tuple(source.number for source in cited)))
        return f"“{self._word}” is not there" if self._word in claim else ""


def checking(**changed: Any) -> Checking:
    given: dict[str, Any] = {
        "reader": RenderedCitations(),
        "checker": WordWatcher(),
        "screen": lambda text: text,
    }
    return Checking(**(given | changed))


def found(*texts: str) -> Toolbox:
    """A search that finds these texts, each a source of its own."""
    rows = [
        SearchResult(title=f"Page {number}", url=f"https://example.org/{number}", text=text)
        for number, text in enumerate(texts or ("Ice is lighter than water.",), start=1)
    ]
    return Toolbox(web=FakeSearcher(lambda query: rows))


async def checked(*replies: Any, draft: str = DRAFT, **changed: Any) -> list[AgentEvent]:
    """The events of a turn that searches once, writes the draft, and then plays the replies."""
    model = changed.pop("model", None) or ScriptedModel(search("ice"), say(draft), *replies)
    given: dict[str, Any] = {"checking": checking(), "toolbox": found()}
    return await events_of(model, **(given | changed))


def of_type(events: Sequence[AgentEvent], *kinds: type) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def final_text(events: Sequence[AgentEvent]) -> str:
    text = answer_of(events)
    for event in of_type(events, SentenceReplaced):
        text = text[: event.start] + event.text + text[event.end :]
    return text
