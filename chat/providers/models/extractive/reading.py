"""What a list of messages says: the question, what it points back to, what the tools returned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from chat.agent.prompts import wording
from chat.agent.values import Message
from chat.providers.models.extractive.language import (
    folded,
    informative_words,
    language,
    language_of,
    words,
)
from chat.providers.models.extractive.passages import Passage
from chat.providers.models.extractive.ranking import Question
from chat.providers.models.extractive.remembering import notes_in

_MAX_QUERY_CHARS, _MAX_QUERY_WORDS = 300, 32
_MAX_LOOKED_AT_CHARS = 4_000
_MAX_SOURCES = 60
_MAX_INFORMATIVE_OF_A_FOLLOW_UP = 2
_ASKING_SENTENCE = re.compile(r"[^.!?。！？]{3,300}[?？]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """`written` is what of this answer is already there, when the rest of it is asked for.

    `tried` are the tools called since the question, `reasons` say why some gave nothing, and
    `said` is what the person wrote before, oldest first, as passages without a number. `kept` is
    what a memory tool said last, `notes` are the lines of the memory files.
    """

    question: Question
    query: str
    written: str
    tried: tuple[str, ...]
    passages: tuple[Passage, ...]
    reasons: Mapping[str, str]
    said: tuple[Passage, ...]
    kept: Mapping[str, Any]
    notes: tuple[Passage, ...]


def read_turn(messages: Sequence[Message]) -> Turn:
    asked_at, written = _place_of_question(messages)
    text = _shortened(messages[asked_at].text) if asked_at >= 0 else ""
    earlier = [message.text for message in messages[: max(asked_at, 0)] if message.role == "user"]
    background = _background(text, earlier)
    calls = [call for message in messages[asked_at + 1 :] for call in message.tool_calls]
    results = [_result(message.text) for message in messages if message.role == "tool"]
    recalled = [_result(message.text) for message in messages[1:] if message.role == "system"]
    earlier = [*_said_earlier(recalled), *earlier]
    return Turn(
        question=Question(text, background),
        query=" ".join(filter(None, (background, text))),
        written=written,
        tried=tuple(call.name for call in calls),
        passages=tuple(
            dict.fromkeys(p for result in [*recalled, *results] for p in _passages(result))
        ),
        reasons={who: why for result in results for who, why in _reasons(result)},
        said=tuple(Passage(number=0, title="", text=one) for one in earlier),
        kept=results[-1] if results else {},
        notes=notes_in(messages),
    )


def _place_of_question(messages: Sequence[Message]) -> tuple[int, str]:
    """Where the question stands, and the answer so far if it is to be gone on with.

    The loop speaks as the user, too: it says that a limit was reached, or asks for the rest.
    """
    asked = [i for i, message in enumerate(messages) if _is_from_the_person(message)]
    place = asked[-1] if asked else -1
    goes_on = any(
        message.role == "user" and message.text == wording("continue")
        for message in messages[place + 1 :]
    )
    written = messages[place + 1].text if goes_on and place + 1 < len(messages) else ""
    return place, written


def _is_from_the_person(message: Message) -> bool:
    if message.role != "user" or message.text == wording("continue"):
        return False
    opening, _, closing = wording("limit").partition("{limit}")
    return not (message.text.startswith(opening) and message.text.endswith(closing))


def _background(question: str, earlier: Sequence[str]) -> str:
    """The last earlier question that stands alone, if this one points back to it."""
    if not _points_back(question):
        return ""
    alone = (text for text in reversed(earlier) if not _points_back(text))
    return _shortened(next(alone, earlier[-1] if earlier else ""))


def _points_back(question: str) -> bool:
    """Short, and either without a subject or with a word that stands for an earlier one."""
    text = folded(question[:_MAX_LOOKED_AT_CHARS])
    code = language_of(question)
    follow_up = language(code).section("follow_up")
    n_informative = len(informative_words(text, code))
    if not follow_up or n_informative > _MAX_INFORMATIVE_OF_A_FOLLOW_UP:
        return False
    edge = r"\b" if language(code).spaced else ""
    opens = re.match(rf"\W*(?:{follow_up['opens']}){edge}", text)
    points = re.search(rf"{edge}(?:{follow_up['points']}){edge}", text)
    return bool(n_informative == 0 or opens or points)


def _shortened(text: str) -> str:
    """The text if it is short, otherwise its last sentence that asks, otherwise its first words."""
    plain = " ".join(text.split())
    if not words(plain):
        return ""
    if len(plain) <= _MAX_QUERY_CHARS:
        return plain
    code = language_of(plain)
    for asking in reversed(_ASKING_SENTENCE.findall(plain[-_MAX_LOOKED_AT_CHARS:])):
        if informative_words(asking, code):
            return str(asking).strip()
    informative = informative_words(plain, code)
    distinct = dict.fromkeys(word for word in words(plain) if word in informative)
    return " ".join(list(distinct)[:_MAX_QUERY_WORDS])[:_MAX_QUERY_CHARS].strip()


# --- What the tools returned ---------------------------------------------------------------------


def _result(text: str) -> dict[str, Any]:
    """The JSON object in a tool's text; empty if there is none."""
    start = text.find("{")
    if start < 0:
        return {}
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return {}
    return dict(found) if isinstance(found, dict) else {}


def _passages(result: Mapping[str, Any]) -> Iterator[Passage]:
    for source in _dicts(result.get("sources"))[:_MAX_SOURCES]:
        number = source.get("number")
        if isinstance(number, int) and number >= 1:
            for text in _texts(source.get("passages")):
                yield Passage(
                    number=number,
                    title=_text(source.get("title")),
                    text=text,
                    published=_day(source.get("published")),
                )


def _said_earlier(recalled: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the person said in the older lines that were recalled for the question."""
    for told in recalled:
        for one in _dicts(told.get("earlier")):
            if one.get("who") == "user":
                yield _text(one.get("text"))


def _reasons(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for provider in _dicts(result.get("passed_over")):
        yield _text(provider.get("provider")), _text(provider.get("reason"))
    if error := _text(result.get("error")):
        yield "", error


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(_text(value)[:10])
    except ValueError:
        return None
