"""Builds what the model is sent. The wording lies beside this file, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib import resources

from chat.agent.values import History, Message, Remembered

_DAY = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@cache
def wording(name: str) -> str:
    """The text of `name`.md beside this file."""
    return resources.files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


def build_prompt(
    question: str,
    history: History,
    *,
    now: datetime,
    remembered: Remembered | None = None,
    session: str = "",
    summaries: str = "",
    earlier: str = "",
) -> list[Message]:
    """System text with the memory files and session facts, summaries, the newest messages, older
    lines, skills for this question, date and number of visible messages, then the question.

    `summaries` and `earlier` are quoted already. The beginning stays the same from turn to turn,
    so that a server's prompt cache holds.
    """
    skills = remembered.skills if remembered else ""
    return [
        Message(role="system", text=system_text(remembered, session)),
        *_told(summaries),
        *history.messages,
        *_told(earlier),
        *_told(skills),
        Message(role="system", text=situation(history, now)),
        Message(role="user", text=question),
    ]


def _told(text: str) -> list[Message]:
    return [Message(role="system", text=text)] if text else []


def system_text(remembered: Remembered | None, session: str = "") -> str:
    """One system text, as many models take no second one."""
    if remembered is None:
        return "\n\n".join(filter(None, (wording("system"), session)))
    memory = (
        wording("memory")
        .replace("{messages}", f"{remembered.window_messages}")
        .replace("{tokens}", f"{remembered.window_tokens:,}")
    )
    return "\n\n".join(filter(None, (wording("system"), memory, remembered.start, session)))


def build_continuation(prompt: Sequence[Message], answer: str) -> list[Message]:
    """The prompt that asks for the rest of an answer that was cut."""
    return [
        *prompt,
        Message(role="assistant", text=answer),
        Message(role="user", text=wording("continue")),
    ]


def limit_note(limit: str) -> Message:
    return Message(role="user", text=wording("limit").replace("{limit}", limit))


def situation(history: History, now: datetime) -> str:
    zone = getattr(now.tzinfo, "key", "") or now.tzname() or "UTC"
    offset = now.strftime("%z")
    moment = f"{_DAY[now.weekday()]} {now:%Y-%m-%d %H:%M}"
    return (
        wording("situation")
        .replace("{moment}", f"{moment} ({zone}, UTC{offset[:3]}:{offset[3:5]})")
        .replace("{visible}", _visible(history))
    )


def _visible(history: History) -> str:
    if history.n_total == 0:
        return "This is the first question of the conversation."
    if history.n_visible == history.n_total:
        return f"You can see all {history.n_total} earlier messages of the conversation."
    return (
        f"You can see {history.n_visible} of the {history.n_total} earlier messages of the "
        "conversation, the newest; the others can be searched with search_history."
    )
