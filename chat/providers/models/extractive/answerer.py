"""The answerer that needs no language model: it searches, and quotes what answers best.

It sees messages and tools alone, like any model, and keeps nothing between steps: the same messages
give the same answer, letter by letter. It asks the library first, then the web if the library does
not cover the question, and then answers with what there is.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence

from chat.agent.memory_tools import MEMORY_WRITE
from chat.agent.ports import Finished, ModelEvent, TextDelta, ToolCallMade
from chat.agent.values import Message, ToolCall, ToolSpec, Usage
from chat.providers.models.extractive.answer import (
    Chosen,
    answer_text,
    choose,
    earlier_text,
    noted_text,
    nothing_found_text,
    remembered_text,
    short_text,
)
from chat.providers.models.extractive.language import folded, language, words
from chat.providers.models.extractive.passages import Passage, candidates
from chat.providers.models.extractive.ranking import Question, Scored, rank
from chat.providers.models.extractive.reading import Turn, read_turn
from chat.providers.models.extractive.remembering import (
    call_to_remember,
    note_of_name,
    what_became,
)

# Tools in the order in which they are tried, with the name of each place in the wording.
_LIBRARY, _WEB = "search_library", "web_search"
_PLACES = {_LIBRARY: "library", _WEB: "web"}
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
        n_prompt = sum(_n_tokens(message.text) for message in messages)
        said = _decide(read_turn(messages), {tool.name for tool in tools})
        if isinstance(said, ToolCall):
            yield ToolCallMade(said)
            yield Finished("tool_calls", Usage(n_prompt, _n_tokens(said.arguments), estimated=True))
            return
        n_spent = 0
        for piece in _PIECE.findall(said):
            if n_spent + _n_tokens(piece) > max_tokens:
                yield Finished("length", Usage(n_prompt, n_spent, estimated=True))
                return
            n_spent += _n_tokens(piece)
            yield TextDelta(piece)
        yield Finished("stop", Usage(n_prompt, n_spent, estimated=True))


def _decide(turn: Turn, offered: set[str]) -> ToolCall | str:
    """The next call, or the text of the answer."""
    if not words(turn.question.text):
        return short_text(turn.question, "no_words")
    if MEMORY_WRITE in turn.tried:
        return remembered_text(turn.question, *what_became(turn.kept))
    if to_keep := call_to_remember(turn.question.text, offered):
        return to_keep
    if turn.question.is_personal:
        told = _told_before(turn, turn.said)
        if told is not None and told.direct:
            return earlier_text(turn.question, told)
        if noted := _noted(turn):
            return noted_text(turn.question, noted)
    chosen, ranked = _best(turn.question, turn.passages)
    is_statement = _is_statement(turn.question)
    if chosen is None or not chosen.direct:
        for tool in (_LIBRARY,) if is_statement else _PLACES:
            if tool in offered and tool not in turn.tried:
                return _call(turn, tool)
    if chosen is None and is_statement and _WEB in offered:
        return short_text(turn.question, "statement")
    return _rest(_answer(turn, chosen, ranked), turn.written)


def _best(question: Question, passages: Sequence[Passage]) -> tuple[Chosen | None, list[Scored]]:
    ranked = rank(question, candidates(passages, question.language))
    return choose(question, ranked), ranked


def _told_before(turn: Turn, said: Sequence[Passage]) -> Chosen | None:
    """What the person said earlier, if that answers. What they asked does not."""
    sentences = candidates(said, turn.question.language)
    told = [one for one in sentences if not one.text.endswith(("?", "？"))]
    return choose(turn.question, rank(turn.question, told))


def _noted(turn: Turn) -> Passage | None:
    """The line of a memory file that answers."""
    if name := note_of_name(turn.question.text, turn.notes):
        return name
    told = _told_before(turn, turn.notes)
    return told.lead.candidate.passage if told and told.direct else None


def _call(turn: Turn, tool: str) -> ToolCall:
    arguments = json.dumps({"query": turn.query}, ensure_ascii=False)
    return ToolCall(f"call_{len(turn.tried) + 1}", tool, arguments)


def _answer(turn: Turn, chosen: Chosen | None, ranked: Sequence[Scored]) -> str:
    if chosen is not None:
        return answer_text(turn.question, chosen, ranked)
    places = [place for tool, place in _PLACES.items() if tool in turn.tried]
    return nothing_found_text(turn.question, places, turn.reasons)


def _rest(answer: str, written: str) -> str:
    """What is still to be said; all of it if what is there is not its beginning."""
    return answer.removeprefix(written.rstrip()) if written else answer


def _is_statement(question: Question) -> bool:
    """Something that the person tells of themselves: nothing to send to the web."""
    tells = language(question.language).section("person").get("tells")
    text = folded(question.text)
    return bool(tells) and re.match(rf"\W*(?:{tells})", text) is not None and "?" not in text


def _n_tokens(text: str) -> int:
    """An estimate that holds for most tokenizers within a third, and never counts nothing."""
    return max(1, len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
