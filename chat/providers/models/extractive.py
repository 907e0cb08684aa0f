"""The answerer that needs no language model: it searches, and quotes what answers best.

It sees messages and tools alone, like any model, and keeps nothing between steps: the same messages
give the same answer, letter by letter. It asks the library first, then the web if the library does
not cover the question, and then answers with what there is.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from chat.agent.memory_tools import MEMORY_WRITE
from chat.agent.ports import Finished, ModelEvent, TextDelta, ToolCallMade
from chat.agent.values import Message, ToolCall, ToolSpec, Usage
from chat.providers.models.extractive_answer import (
    answer_text,
    choose,
    no_words_text,
    nothing_found_text,
    remembered_text,
)
from chat.providers.models.extractive_language import (
    folded,
    informative_words,
    language,
    language_of,
    words,
)
from chat.providers.models.extractive_memory import call_to_remember, what_became
from chat.providers.models.extractive_passages import Passage, candidates
from chat.providers.models.extractive_ranking import Question, Scored, rank

# Tools in the order in which they are tried; the name of each place in the wording.
_PLACES = {"search_library": "library", "web_search": "web"}
_MAX_QUERY_CHARS, _MAX_QUERY_WORDS = 300, 32
_MAX_PASSAGES = 60
_BYTES_PER_TOKEN = 4
_PIECE = re.compile(r"(?:\S{1,24}\s*|\s+){1,4}")


class ExtractiveAnswerer:
    """A `ChatModel` that quotes. It never fails and never waits."""

    @property
    def name(self) -> str:
        return "Built-in answerer"

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, max_tokens: int
    ) -> AsyncIterator[ModelEvent]:
        turn = _read_turn(messages)
        ranked = rank(turn.question, candidates(turn.passages, turn.question.language))
        prompt_tokens = sum(_n_tokens(message.text) for message in messages)
        call = _next_call(turn, ranked, {tool.name for tool in tools})
        if call is not None:
            yield ToolCallMade(call)
            usage = Usage(prompt_tokens, _n_tokens(call.arguments), estimated=True)
            yield Finished("tool_calls", usage)
            return
        spent = 0
        for piece in _PIECE.findall(_answer(turn, ranked)):
            if spent + _n_tokens(piece) > max_tokens:
                yield Finished("length", Usage(prompt_tokens, spent, estimated=True))
                return
            spent += _n_tokens(piece)
            yield TextDelta(piece)
        yield Finished("stop", Usage(prompt_tokens, spent, estimated=True))


@dataclass(frozen=True, slots=True)
class _Turn:
    """`tried` are the tools called since the question, `reasons` say why some gave nothing;
    `kept` is what the memory tool said."""

    question: Question
    tried: tuple[str, ...]
    passages: tuple[Passage, ...]
    reasons: Mapping[str, str]
    kept: Mapping[str, Any]


def _read_turn(messages: Sequence[Message]) -> _Turn:
    asked_at = max((i for i, m in enumerate(messages) if m.role == "user"), default=-1)
    earlier = [message.text for message in messages[: max(asked_at, 0)] if message.role == "user"]
    text = messages[asked_at].text if asked_at >= 0 else ""
    calls = [call for message in messages[asked_at + 1 :] for call in message.tool_calls]
    results = [_result(message.text) for message in messages if message.role == "tool"]
    return _Turn(
        question=Question(text, _background(text, earlier)),
        tried=tuple(call.name for call in calls),
        passages=tuple(dict.fromkeys(p for result in results for p in _passages(result))),
        reasons={who: why for result in results for who, why in _reasons(result)},
        kept=results[-1] if results else {},
    )


def _next_call(turn: _Turn, ranked: Sequence[Scored], offered: set[str]) -> ToolCall | None:
    """The next tool to try; None when it is time to answer."""
    if MEMORY_WRITE in turn.tried:
        return None
    if to_keep := call_to_remember(turn.question.text, offered):
        return to_keep
    query = _query(turn.question)
    chosen = choose(turn.question, ranked)
    if not query or (chosen is not None and chosen.direct):
        return None
    for tool in _PLACES:
        if tool in offered and tool not in turn.tried:
            arguments = json.dumps({"query": query}, ensure_ascii=False)
            return ToolCall(f"call_{len(turn.tried) + 1}", tool, arguments)
    return None


def _answer(turn: _Turn, ranked: Sequence[Scored]) -> str:
    if MEMORY_WRITE in turn.tried:
        return remembered_text(turn.question, *what_became(turn.kept))
    if not turn.question.words and not words(turn.question.text):
        return no_words_text(turn.question)
    chosen = choose(turn.question, ranked)
    if chosen is not None:
        return answer_text(turn.question, chosen, ranked)
    places = [place for tool, place in _PLACES.items() if tool in turn.tried]
    return nothing_found_text(turn.question, places, turn.reasons)


# --- The question --------------------------------------------------------------------------------


def _background(question: str, earlier: Sequence[str]) -> str:
    """The last earlier question that stands alone, if this one points back to it."""
    for text in reversed(earlier):
        if not _points_back(question):
            return ""
        if not _points_back(text):
            return _shortened(text)
    return _shortened(earlier[-1]) if earlier and _points_back(question) else ""


def _points_back(question: str) -> bool:
    """Short, and either without a subject or with a word that stands for an earlier one."""
    code = language_of(question)
    follow_up = language(code).section("follow_up")
    n_informative = len(informative_words(question, code))
    if not follow_up or n_informative > 2:
        return False
    edge = r"\b" if language(code).spaced else ""
    text = folded(question)
    opens = re.match(rf"\W*(?:{follow_up['opens']}){edge}", text)
    points = re.search(rf"{edge}(?:{follow_up['points']}){edge}", text)
    return bool(n_informative == 0 or opens or points)


def _query(question: Question) -> str:
    return " ".join(filter(None, (question.background, _shortened(question.text)))).strip()


def _shortened(text: str) -> str:
    """The text if it is short, otherwise its last sentence that asks, otherwise its first words."""
    plain = " ".join(text.split())
    if not words(plain):
        return ""
    if len(plain) <= _MAX_QUERY_CHARS:
        return plain
    asking = re.findall(r"[^.!?。！？]{3,300}[?？]", plain[-4000:])
    if asking:
        return asking[-1].strip()
    code = language_of(plain)
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
    for source in _dicts(result.get("sources"))[:_MAX_PASSAGES]:
        number = source.get("number")
        if isinstance(number, int) and number >= 1:
            for text in _texts(source.get("passages")):
                yield Passage(
                    number=number,
                    title=_text(source.get("title")),
                    text=text,
                    published=_day(source.get("published")),
                )


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


def _n_tokens(text: str) -> int:
    """An estimate that holds for most tokenizers within a third, and never counts nothing."""
    return max(1, len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
