"""Histories for the tests, with defaults and overrides."""

from datetime import UTC, datetime, timedelta
from itertools import count

from memory.engine import History, Message

START = datetime(2026, 3, 31, 10, 0, tzinfo=UTC)
_numbers = count()


def said(text, role="user", **values):
    return Message(f"m{next(_numbers)}", role, text, **values)


def tool(text, tool="read_file", target="src/a.py", **values):
    return Message(f"m{next(_numbers)}", "tool", text, tool=tool, target=target, **values)


def edit(old, new, target="src/a.py", **values):
    args = {"old_string": old, "new_string": new}
    return tool("The file was changed.", "edit_file", target, args=args, **values)


def filler(n, topic="weather"):
    """Talk about something else, each line with its own number."""
    at = START
    return [
        said(f"Remark {n} on the {topic}: nothing to add.", at=at + timedelta(minutes=n))
        for n in range(n)
    ]


def shown(messages, question, budget=400, **options):
    """What a model would read, as one text."""
    history = messages if isinstance(messages, History) else History(messages)
    packed = history.pack(question, budget, **options)
    return "\n".join(message.content for message in packed.messages)
