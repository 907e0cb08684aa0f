"""A span of messages as a model reads it: cut into chunks, each with who speaks and when.

Messages are JSON, one a line: no text can pass for another speaker's or for an instruction. A
message that is longer than a chunk is cut at lines, and each piece says whose it is again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from memory.engine.lines import split_lines
from memory.engine.summaries import day_of, speaker_of
from memory.engine.tokens import CountTokens
from memory.engine.values import Message

_PROMPT = Path(__file__).with_name("summary_prompt.md")
_TOKENS_A_LINE = 35
_FEWEST_LINES = 4


@dataclass(frozen=True, slots=True)
class Chunk:
    """`messages` as they are in `text`, and for each its number in the span."""

    text: str
    messages: tuple[Message, ...]
    numbers: tuple[int, ...]


@cache
def _prompt() -> str:
    return _PROMPT.read_text(encoding="utf-8")


def instructions(answer_tokens: int) -> str:
    """What the model is told, for a summary of about so many tokens."""
    return _prompt().replace("{n_lines}", str(max(_FEWEST_LINES, answer_tokens // _TOKENS_A_LINE)))


def chunked(messages: Sequence[Message], chunk_tokens: int, count: CountTokens) -> list[Chunk]:
    """All that was said, and what was read by its address, in chunks of at most `chunk_tokens`.

    A piece that cannot be cut further may be longer. Messages that say nothing are left out.
    """
    chunks: list[Chunk] = []
    open_lines: list[tuple[str, Message, int]] = []
    used = 0
    for line, message, number in _lines(messages, chunk_tokens, count):
        cost = count(line + "\n")
        if open_lines and used + cost > chunk_tokens:
            chunks.append(_closed(open_lines))
            open_lines, used = [], 0
        open_lines.append((line, message, number))
        used += cost
    return [*chunks, _closed(open_lines)] if open_lines else chunks


def _closed(lines: Sequence[tuple[str, Message, int]]) -> Chunk:
    texts, messages, numbers = zip(*lines, strict=True)
    return Chunk("\n".join(texts), messages, numbers)


def _lines(
    messages: Sequence[Message], chunk_tokens: int, count: CountTokens
) -> Iterator[tuple[str, Message, int]]:
    for number, message in enumerate(messages):
        if message.role == "tool":
            if message.ok and message.target:
                yield _quoted(message), message, number
        elif message.text.strip():
            for piece in _pieces(message.text, chunk_tokens, count):
                cut = replace(message, text=piece)
                yield _quoted(cut), cut, number


def _quoted(message: Message) -> str:
    told = {"date": day_of(message)} if message.at else {}
    if message.role == "tool":
        told["read"] = message.target or ""
    else:
        told |= {"from": speaker_of(message), "text": message.text}
    return json.dumps(told, ensure_ascii=False)


def _pieces(text: str, chunk_tokens: int, count: CountTokens) -> Iterator[str]:
    """The text, whole where it takes no more than half of a chunk, else by its lines."""
    most = chunk_tokens // 2
    if count(text) <= most:
        yield text
        return
    start = end = used = 0
    for line in split_lines(text):
        cost = count(line.of(text) + "\n")
        if used and used + cost > most:
            yield text[start:end]
            start, used = line.start, 0
        used += cost
        end = line.end
    yield text[start:end]
