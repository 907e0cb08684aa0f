"""Repair: one model call that sees what is wrong and what was found, and returns a sentence.

It does not see the conversation, the rest of the answer or any tool: `last_error`, the sentence
and `chunks` are all there is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import aclosing

from chat.agent.citations import best_passage
from chat.agent.limits import Meter
from chat.agent.output import OutputFilter, Retracted, Visible
from chat.agent.ports import (
    ChatModel,
    CitationReader,
    Finished,
    FinishReason,
    StopSignal,
    TextDelta,
)
from chat.agent.prompts import wording
from chat.agent.race import guarded
from chat.agent.storable import storable
from chat.agent.values import CitedSentence, Message, Source, Span, Usage
from chat.agent.working import Chunk, WorkingMemory

# What repair may read of the chunks. Whole ones only; the one that fits best always goes along.
CHUNKS_TOKENS = 2_000
# A person is waiting with the answer before their eyes.
REPAIR_SECONDS = 60.0
MAX_GROWTH = 3
MIN_CHARS = 400
# Markup that a sentence may not bring into a place where it was not before.
_MARKUP = frozenset("|`<>\\$#")


def replaced(text: str, span: Span, sentence: str) -> str:
    return f"{text[: span.start]}{sentence}{text[span.end :]}"


def moved(span: Span, place: Span, sentence: str) -> Span:
    """Where a span lies once `place` holds `sentence`. What begins before the place stays."""
    shift = len(sentence) - (place.end - place.start) if span.start >= place.end else 0
    return Span(span.start + shift, span.end + shift)


# --- Asking -------------------------------------------------------------------------------------


def build_repair(
    working: WorkingMemory,
    sentence: CitedSentence,
    text: str,
    count_tokens: Callable[[str], int],
) -> list[Message]:
    chunks = _nearest(working.chunks, sentence, count_tokens)
    told = {
        "last_error": working.last_error,
        "sentence": sentence.span.of(text),
        "chunks": [{"number": one.number, "title": one.title, "text": one.text} for one in chunks],
    }
    return [
        Message(role="system", text=wording("repair")),
        Message(role="user", text=json.dumps(told, ensure_ascii=False)),
    ]


def _nearest(
    chunks: Sequence[Chunk], sentence: CitedSentence, count_tokens: Callable[[str], int]
) -> list[Chunk]:
    """As many whole chunks as fit: the best one, those of the cited sources, then the others."""
    cited = [one for one in chunks if one.number in sentence.numbers]
    best = best_passage(sentence.claim, [one.text for one in cited])
    first = [cited[best]] if best is not None else cited[:1]
    others = [one for one in chunks if one.number not in sentence.numbers]
    kept: list[Chunk] = []
    left = CHUNKS_TOKENS
    for chunk in dict.fromkeys([*first, *cited, *others]):
        left -= count_tokens(chunk.text)
        if left < 0 and kept:
            break
        kept.append(chunk)
    return kept


async def ask_for_sentence(
    model: ChatModel, messages: Sequence[Message], meter: Meter, stop: StopSignal, n_tokens: int
) -> str:
    """The model's sentence on one line, or nothing where it did not finish one.

    Raises ModelError, Stopped and OutOfTime.
    """
    output = OutputFilter(frozenset(), step=meter.n_steps)
    text, written, usage = "", 0, Usage(n_tokens, 0, estimated=True)
    finish: FinishReason = "unknown"
    stream = model.stream(messages, (), max_tokens=meter.answer_tokens(n_tokens))
    until = meter.seconds_spent() + REPAIR_SECONDS
    items = guarded(
        stream,
        stop=stop,
        seconds_left=lambda: min(meter.seconds_left(), until - meter.seconds_spent()),
    )
    try:
        async with aclosing(items):
            async for item in items:
                if isinstance(item, TextDelta):
                    written += len(item.text)
                    text = _heard(text, output.feed(item.text))
                elif isinstance(item, Finished):
                    finish, usage = item.reason, item.usage or usage
        text = _heard(text, output.close(finish))
    finally:
        meter.add(usage if usage.completion_tokens else Usage(n_tokens, written // 3, True))
    return "" if finish in {"length", "content_filter"} else " ".join(storable(text).split())


def _heard(text: str, said: Iterable[object]) -> str:
    for one in said:
        if isinstance(one, Visible):
            text += one.text
        elif isinstance(one, Retracted):
            text = ""
    return text


# --- Judging its form ---------------------------------------------------------------------------


def fits(
    sentence: str, place: Span, text: str, sources: Sequence[Source], reader: CitationReader
) -> Sequence[CitedSentence]:
    """What a new sentence cites in its place; nothing where it cannot take the place.

    All of it must cite a source, and every other citation of the answer must stay what it was.
    """
    old = place.of(text)
    if not sentence or len(sentence) > max(MIN_CHARS, MAX_GROWTH * len(old)):
        return ()
    if _MARKUP.intersection(sentence) - set(old):
        return ()
    before = reader.cited_sentences(text, sources)
    after = reader.cited_sentences(replaced(text, place, sentence), sources)
    new = Span(place.start, place.start + len(sentence))
    inside = [one for one in after if new.start <= one.span.start and one.span.end <= new.end]
    others = [one for one in after if one not in inside]
    if others != _elsewhere(before, place, sentence) or not _covers(inside, new, sentence):
        return ()
    return inside


def _elsewhere(
    sentences: Iterable[CitedSentence], place: Span, sentence: str
) -> list[CitedSentence]:
    return [
        CitedSentence(moved(one.span, place, sentence), one.claim, one.numbers)
        for one in sentences
        if one.span != place
    ]


def _covers(inside: Collection[CitedSentence], new: Span, sentence: str) -> bool:
    """Whether the cited sentences together are the whole of the new text."""
    position = new.start
    for one in inside:
        if sentence[position - new.start : one.span.start - new.start].strip():
            return False
        position = one.span.end
    return bool(inside) and not sentence[position - new.start :].strip()
