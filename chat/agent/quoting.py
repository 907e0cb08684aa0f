"""Text from outside as the model reads it: JSON, whose strings cannot close their own quotes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chat.agent.prompts import wording
from chat.agent.values import Earlier, PassedOver, Source, Span, SummaryText


def quote_sources(
    shown: Iterable[tuple[Source, Sequence[Span]]],
    *,
    passed_over: Sequence[PassedOver] = (),
    note: str = "",
) -> str:
    """A tool's result: numbered sources, each with the passages shown this time."""
    told: dict[str, Any] = {"notice": wording("notice")}
    told["sources"] = [_quoted(source, spans) for source, spans in shown]
    if note:
        told["note"] = note
    if passed_over:
        told["passed_over"] = [
            {"provider": one.provider, "reason": one.reason} for one in passed_over
        ]
    return json.dumps(told, ensure_ascii=False)


def quote_error(reason: str) -> str:
    """A failed tool's result. It holds no sources and cannot be read as a success."""
    return json.dumps({"error": reason}, ensure_ascii=False)


def quote_earlier(earlier: Earlier, shown: Iterable[tuple[Source, Sequence[Span]]]) -> str:
    """Older lines of the conversation; the evidence among them under numbers of this turn."""
    told: dict[str, Any] = {"notice": wording("earlier_notice")}
    if earlier.counts:
        told["counted"] = list(earlier.counts)
    if earlier.said:
        told["earlier"] = [
            {"who": one.who, **({"on": one.on} if one.on else {}), "text": "\n".join(one.lines)}
            for one in earlier.said
        ]
    sources = [
        {**_quoted(source, spans), "read": source.read_at.date().isoformat()}
        for source, spans in shown
    ]
    if sources:
        told["sources"] = sources
    return json.dumps(told, ensure_ascii=False)


def quote_summaries(summaries: Iterable[SummaryText]) -> str:
    """Summaries of what has left the window, oldest first. No text in them gets a number."""
    told = [
        {"messages": one.n_messages, **({"on": one.on} if one.on else {}), "text": one.text}
        for one in summaries
    ]
    return json.dumps(
        {"notice": wording("summaries_notice"), "summaries": told}, ensure_ascii=False
    )


def quote_memory(told: Mapping[str, Any]) -> str:
    """What a memory tool tells, or notes for the prompt. No text in it gets a number."""
    return json.dumps({"notice": wording("memory_notice"), **told}, ensure_ascii=False)


def quote_history(told: Mapping[str, Any]) -> str:
    """What a search of the conversations tells. No text in it gets a number."""
    return json.dumps({"notice": wording("history_notice"), **told}, ensure_ascii=False)


def _quoted(source: Source, spans: Sequence[Span]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "number": source.number,
        "title": source.title,
        "url": source.url,
        "passages": [span.of(source.text) for span in spans],
    }
    if source.published_at:
        told["published"] = source.published_at.date().isoformat()
    return told
