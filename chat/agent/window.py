"""Which messages the model sees whole: the newest, and from where on they count as the newest.

The window begins where it began the turn before, so that the prompt only grows at its end and a
server's prompt cache holds; once it has grown past its share of the budget, only the newest few
messages stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chat.agent.values import History, Message

UNANSWERED = "[The question above got no answer.]"


def window_start(costs: Sequence[int], start: int, *, limit_tokens: int, newest: int) -> int:
    """The index of the first message that is sent whole.

    `costs` are the tokens of all messages, oldest first; `start` is where the window began before.
    It stays there as long as the messages from there on cost no more than `limit_tokens`; then it
    moves so that at most the `newest` stay, fewer where they do not fit. No message is cut.
    """
    if sum(costs[start:]) <= limit_tokens:
        return start
    start = max(start, len(costs) - newest)
    left = limit_tokens - sum(costs[start:])
    while left < 0:
        left += costs[start]
        start += 1
    return start


def message_cost(message: Message, count_tokens: Callable[[str], int]) -> int:
    """Tokens of a message in the window, with a note that it may need."""
    return count_tokens(message.text) + count_tokens(UNANSWERED)


def note_cost(n_total: int, count_tokens: Callable[[str], int]) -> int:
    return count_tokens(f"[{omitted(n_total)}]")


def window(messages: Sequence[Message], *, n_total: int) -> History:
    """The newest `messages`, oldest first and not empty, of `n_total`; what is left out is said."""
    n_omitted = n_total - len(messages)
    note = omitted(n_omitted) if n_omitted else ""
    opening = [Message(role="system", text=f"[{note}]")] if note and messages else []
    return History(
        messages=tuple(opening + _explained(messages)),
        n_visible=len(messages),
        n_total=n_total,
        note=note,
    )


def omitted(n_omitted: int) -> str:
    noun = "message is" if n_omitted == 1 else "messages are"
    return f"{n_omitted} earlier {noun} left out here."


def _explained(messages: Sequence[Message]) -> list[Message]:
    """Two questions in a row get a word between them: the first one was never answered."""
    told: list[Message] = []
    for message in messages:
        if told and told[-1].role == message.role == "user":
            told.append(Message(role="system", text=UNANSWERED))
        told.append(message)
    if told and told[-1].role == "user":
        told.append(Message(role="system", text=UNANSWERED))
    return told
