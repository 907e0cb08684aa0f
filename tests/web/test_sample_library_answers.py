"""Simple questions over the sample library: the first sentence that is quoted answers.

The real search, numbering and quoting stand between the articles and the answerer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from chat.agent.ports import TextDelta, ToolCallMade
from chat.agent.quoting import quote_sources
from chat.agent.sources import SourceRegistry
from chat.agent.values import Message, SearchResult, ToolSpec
from chat.library import ensure_sample_library
from chat.library.search import LibrarySearch
from chat.providers.models.extractive import ExtractiveAnswerer

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)
TOOLS = (ToolSpec("search_library", "", {}), ToolSpec("web_search", "", {}))
QUOTED = re.compile(r"(?:“|«|„|「|‘|『|‚)\s?(.+?)\s?(?:”|»|“|」|’|』|‘) \[\d+\]")

LISTED = Path(__file__).with_name("sample_library_questions.txt").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Asked:
    language: str
    question: str
    phrases: tuple[str, ...]


def asked(line: str) -> Asked:
    language, question, phrases = line.split(" | ")
    return Asked(language, question, tuple(phrases.split(" / ")))


QUESTIONS = [asked(line) for line in LISTED.splitlines() if not line.startswith("#")]


@pytest.fixture
def library() -> Any:
    """Searches the sample library as somebody who owns nothing."""
    ensure_sample_library()
    alice = get_user_model().objects.create_user("alice-who-asks")
    search = LibrarySearch()
    return lambda query: search.search(alice, query, 8)


def told(results: Sequence[SearchResult]) -> str:
    registry = SourceRegistry()
    shown = [registry.add_result(one, provider="library", read_at=NOON) for one in results]
    return quote_sources(shown)


async def answer_to(question: str, library: Any) -> str:
    """What is answered when the web knows nothing."""
    messages = [Message(role="user", text=question)]
    for _ in range(4):
        text = ""
        async for event in ExtractiveAnswerer().stream(messages, TOOLS, max_tokens=2_000):
            if isinstance(event, TextDelta):
                text += event.text
            if isinstance(event, ToolCallMade):
                call = event.call
                messages.append(Message(role="assistant", tool_calls=(call,)))
        if text:
            return text
        found = library(question) if call.name == "search_library" else []
        messages.append(Message(role="tool", text=told(found), tool_call_id=call.id))
    raise AssertionError("no answer after four steps")


def ask(question: str, library: Any) -> str:
    """The generator awaits nothing, so it is driven without an event loop."""
    coroutine = answer_to(question, library)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return str(done.value)
    raise AssertionError("the answerer waited for something")


def first_quotation(answer: str) -> str:
    found = QUOTED.search(answer)
    return found.group(1) if found else ""


def test_the_first_quotation_answers_nineteen_of_twenty_questions(library: Any) -> None:
    missed = defaultdict(list)
    counted: dict[str, int] = defaultdict(int)
    for one in QUESTIONS:
        counted[one.language] += 1
        quotation = first_quotation(ask(one.question, library))
        if not any(phrase in quotation for phrase in one.phrases):
            missed[one.language].append((one.question, quotation))
    n_missed = sum(map(len, missed.values()))
    assert n_missed <= 0.05 * len(QUESTIONS), dict(missed)
    for language, n_asked in counted.items():
        assert len(missed[language]) <= 0.15 * n_asked, missed[language]


def test_there_are_questions_in_every_language_of_the_library() -> None:
    languages = [one.language for one in QUESTIONS]
    assert len(languages) >= 60
    assert all(languages.count(code) >= 15 for code in ("en", "es", "de", "fr", "ja", "ru"))


@pytest.mark.parametrize(
    ("question", "newer", "date", "older", "older_date"),
    [
        ("How many moons does Saturn have?", "274", "2025-03-20", "82 known", "2019-10-08"),
        ("How is the kilogram defined?", "Planck", "2019-05-21", "cylinder", "2014-03-10"),
        ("Is Pluto a planet?", "dwarf planet", "2016-01-15", "ninth planet", "2005-02-20"),
        ("How many planets are in the Solar System?", "eight", "2016-01-15", "nine", "2005-02-20"),
        ("¿Cuánto dura la garantía legal?", "tres años", "2022-01-10", "dos años", "2020-02-10"),
    ],
)
def test_where_articles_disagree_both_are_shown_with_their_dates_the_newer_first(
    question: str, newer: str, date: str, older: str, older_date: str, library: Any
) -> None:
    first, second, *_ = ask(question, library).split("\n\n")
    assert newer in first
    assert date in first
    assert older in second
    assert older_date in second


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ("Why does ice float?", "less dense than liquid water"),
        ("¿Por qué flota el hielo?", "menos denso que el agua líquida"),
        ("por que flota el hielo", "menos denso que el agua líquida"),
    ],
)
def test_why_ice_floats_is_answered_from_the_library_in_the_language_of_the_question(
    question: str, phrase: str, library: Any
) -> None:
    answer = ask(question, library)
    assert phrase in first_quotation(answer)
    quotations = QUOTED.findall(answer)
    sources = "\n".join(result.text for result in library(question))
    assert all(quotation in sources for quotation in quotations)


@pytest.mark.parametrize(
    "question",
    [
        "How tall is the Eiffel Tower?",
        "Who wrote Hamlet?",
        "What is the capital of Australia?",
        "how do I change a bicycle tube",
        "¿Quién pintó el Guernica?",
        "Wie heißt der Bürgermeister von Ulm?",
    ],
)
def test_a_question_that_the_library_does_not_cover_gets_no_citation(
    question: str, library: Any
) -> None:
    assert not QUOTED.search(ask(question, library))
