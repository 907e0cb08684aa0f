"""Which messages the model sees: the newest, whole, within a count and a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from chat.agent.values import History, Message

UNANSWERED = "[The question above got no answer.]"


def newest(
    messages: Sequence[Message],
    *,
    n_total: int,
    max_messages: int,
    budget_tokens: int,
    count_tokens: Callable[[str], int],
) -> History:
    """The newest of `messages`, oldest first, stating what is left out.

    `messages` are clean and non-empty; `n_total` counts the whole conversation. No message is cut
    in the middle: the first that does not fit ends the window. The notes count as well.
    """
    kept: list[Message] = []
    left = budget_tokens - count_tokens(_omitted(n_total))
    for message in reversed(messages[-max_messages:] if max_messages else ()):
        cost = count_tokens(message.text) + count_tokens(UNANSWERED)
        if cost > left:
            break
        left -= cost
        kept.insert(0, message)
    n_omitted = n_total - len(kept)
    note = _omitted(n_omitted) if n_omitted else ""
    opening = [Message(role="system", text=f"[{note}]")] if note and kept else []
    return History(
        messages=tuple(opening + _explained(kept)),
        n_visible=len(kept),
        n_total=n_total,
        note=note,
        receipt={"visible": len(kept), "total": n_total, "budget_tokens": budget_tokens},
    )


def _omitted(n_omitted: int) -> str:
    noun = "message is" if n_omitted == 1 else "messages are"
    return f"{n_omitted} earlier {noun} left out here."


def _explained(messages: Sequence[Message]) -> list[Message]:
    """Two questions in a row get a word between them: the first one was never answered."""
    told: list[Message] = []
    for message in messages:
        if told and told[-1].role == message.role == "user":
            told.append(Message(role="system", text=UNANSWERED))
        told.append(replace(message))
    if told and told[-1].role == "user":
        told.append(Message(role="system", text=UNANSWERED))
    return told
