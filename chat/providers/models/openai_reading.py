"""One streamed answer: from the data of a server's events to what the model said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx2
import openai

from chat.agent.ports import (
    Finished,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallMade,
)
from chat.agent.values import Usage
from chat.providers.models.openai_messages import CallPieces, field

DONE = b"[DONE]"

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
}


class Reading:
    """One answer as it comes in. The client does not check what it parses, so nothing is sure."""

    def __init__(self) -> None:
        self._calls = CallPieces()
        self._reason = ""
        self._usage: Usage | None = None
        self._said_anything = False
        self._is_done = False
        self._fault: object = None

    @property
    def is_finished(self) -> bool:
        return self._is_done or bool(self._reason)

    @property
    def is_empty(self) -> bool:
        return not (self._reason or self._said_anything or self._calls.calls())

    def read(self, chunks: list[Any]) -> Iterator[ModelEvent]:
        """Up to an error that was sent in the place of a chunk, or a chunk that is none."""
        for chunk in chunks:
            if self._is_done:
                return
            if chunk is DONE:
                self._is_done = True
            elif isinstance(chunk, Exception) or _fault_in(chunk):
                self._fault = chunk if isinstance(chunk, Exception) else _fault_in(chunk)
                return
            else:
                yield from self._read_chunk(chunk)

    def raise_fault(self, response: httpx2.Response) -> None:
        if isinstance(self._fault, Exception):
            raise self._fault
        if self._fault:
            raise openai.APIError("", response.request, body=self._fault)

    def _read_chunk(self, chunk: object) -> Iterator[ModelEvent]:
        self._usage = _usage(field(chunk, "usage")) or self._usage
        choices = field(chunk, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        delta = field(choice, "delta") or field(choice, "message")
        yield from self._read_delta(delta)
        self._reason = str(field(choice, "finish_reason") or self._reason)

    def _read_delta(self, delta: object) -> Iterator[ModelEvent]:
        thought = _text(field(delta, "reasoning_content") or field(delta, "reasoning"))
        text = _text(field(delta, "content")) or _text(field(delta, "refusal"))
        self._said_anything = self._said_anything or bool(thought or text)
        if thought:
            yield ReasoningDelta(thought)
        if text:
            yield TextDelta(text)
        calls = field(delta, "tool_calls")
        for piece in calls if isinstance(calls, list) else []:
            self._calls.add(piece)

    def end(self) -> Iterator[ModelEvent]:
        calls = self._calls.calls()
        yield from (ToolCallMade(call) for call in calls)
        reason = _FINISH_REASONS.get(self._reason.lower(), "unknown")
        if calls and reason in {"stop", "unknown"}:
            reason = "tool_calls"
        elif reason == "tool_calls" and not calls:
            reason = "unknown"
        yield Finished(reason, self._usage)


def _fault_in(chunk: object) -> object:
    """An error that was sent in the place of a chunk."""
    if not isinstance(chunk, dict):
        return None
    return chunk if chunk.get("object") == "error" else chunk.get("error")


def _text(value: object) -> str:
    """A text, or the text parts of a list of parts."""
    if isinstance(value, list):
        return "".join(_text(field(part, "text")) for part in value)
    return value if isinstance(value, str) else ""


def _usage(usage: object) -> Usage | None:
    counts = field(usage, "prompt_tokens"), field(usage, "completion_tokens")
    if not any(isinstance(count, int) for count in counts):
        return None
    prompt, completion = (max(count, 0) if isinstance(count, int) else 0 for count in counts)
    return Usage(prompt, completion)


def parsed(events: list[bytes]) -> list[Any]:
    """Each as the value that it holds, an error where it holds none."""
    values: list[Any] = []
    for event in events:
        if event.startswith(DONE):
            return [*values, DONE]
        try:
            values.append(json.loads(event))
        except (ValueError, RecursionError) as error:
            return [*values, error]
    return values


def joined(events: Iterable[ModelEvent]) -> list[ModelEvent]:
    """Neighbouring pieces of text as one."""
    found: list[ModelEvent] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            found[-1] = TextDelta(last.text + event.text)
        elif isinstance(event, ReasoningDelta) and isinstance(last, ReasoningDelta):
            found[-1] = ReasoningDelta(last.text + event.text)
        else:
            found.append(event)
    return found
