"""The tool that searches what was said before: in this conversation, or in all of the person's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

from chat.agent.errors import ToolError
from chat.agent.prompts import wording
from chat.agent.storable import storable
from chat.agent.values import HistoryHit, HistoryQuery, ToolSpec

SEARCH_HISTORY = "search_history"
MAX_QUERY_CHARS = 400
MAX_HITS, USUAL_HITS = 50, 10

_DAY = {"type": "string", "description": "a day, such as 2026-03-31"}
_PARAMETERS: Mapping[str, Any] = {
    "query": {"type": "string", "description": "words to look for; any of them is enough"},
    "where": {
        "type": "string",
        "enum": ["this", "all"],
        "description": "this conversation, or all conversations with the person; all by default",
    },
    "role": {
        "type": "string",
        "enum": ["user", "assistant"],
        "description": "only what the person said, or only what you said",
    },
    "since": _DAY,
    "until": _DAY,
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_HITS},
}
# A number in brackets, in any of the forms that mean a source somewhere.
_BRACKETED = re.compile(r"[\[［【〔]([\s^]*\d[^\[\]［］【】〔〕]{0,80})[\]］】〕]")


def history_spec() -> ToolSpec:
    schema = {"type": "object", "properties": _PARAMETERS, "required": ["query"]}
    return ToolSpec(SEARCH_HISTORY, wording(SEARCH_HISTORY), schema)


def history_query(arguments: Mapping[str, Any]) -> HistoryQuery:
    """Raises ToolError, which says what the call should have held."""
    since, until = _day(arguments, "since"), _day(arguments, "until")
    if since and until and since > until:
        raise ToolError(f"`since` ({since}) must not be later than `until` ({until}).")
    return HistoryQuery(
        text=_words(arguments),
        limit=_limit(arguments),
        where="this" if _choice(arguments, "where", ("this", "all")) == "this" else "all",
        role=_role(arguments),
        since=since,
        until=until,
    )


def told_hits(hits: tuple[HistoryHit, ...]) -> dict[str, Any]:
    """What the model reads: no text in it gets, or keeps, a number in brackets."""
    found = [
        {
            "on": hit.on,
            "who": hit.who,
            "conversation": without_numbers(hit.conversation),
            "link": hit.link,
            "text": without_numbers(hit.excerpt),
        }
        for hit in hits
    ]
    told: dict[str, Any] = {"found": found}
    if not found:
        told["note"] = (
            "Nothing that was said holds any of these words. Try others, or a wider span."
        )
    return told


def without_numbers(text: str) -> str:
    """Bracketed numbers become numbers in parentheses: here they would be taken for sources."""
    while (plain := _BRACKETED.sub(r"(\1)", text)) != text:
        text = plain  # what was in brackets may stand in brackets itself
    return plain


def _words(arguments: Mapping[str, Any]) -> str:
    query = arguments.get("query")
    words = " ".join(storable(query).split()) if isinstance(query, str) else ""
    if not words:
        raise ToolError('The call needs a text, such as {"query": "boiler code"}.')
    return words[:MAX_QUERY_CHARS]


def _limit(arguments: Mapping[str, Any]) -> int:
    limit = arguments.get("limit")
    if limit in (None, ""):
        return USUAL_HITS
    if isinstance(limit, str) and limit.isascii() and limit.isdecimal() and len(limit) < 5:
        limit = int(limit)
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_HITS:
        raise ToolError(f"`limit` is a whole number from 1 to {MAX_HITS}.")
    return limit


def _role(arguments: Mapping[str, Any]) -> Literal["user", "assistant"] | None:
    role = _choice(arguments, "role", ("user", "assistant"))
    if role == "":
        return None
    return "user" if role == "user" else "assistant"


def _choice(arguments: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = arguments.get(name)
    if value in (None, ""):
        return ""
    if not isinstance(value, str) or value.strip().lower() not in choices:
        raise ToolError(f"`{name}` is one of: {', '.join(choices)}. Leave it out for both.")
    return value.strip().lower()


def _day(arguments: Mapping[str, Any], name: str) -> date | None:
    """A day; the time of day that a model may add to it does not count."""
    value = arguments.get(name)
    if value in (None, ""):
        return None
    try:
        return date.fromisoformat(str(value).strip()[:10])
    except ValueError:
        raise ToolError(f"`{name}` is a day such as 2026-03-31.") from None
