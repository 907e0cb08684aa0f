"""The form of log lines: fields instead of prose, the request they belong to, and no content.

A fault is told by its kinds and places, without its words: those may quote a question, an answer or
a page. LUMINA_DEBUG=on shows them.
"""

from __future__ import annotations

import json
import logging
import re
import traceback
import uuid
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

request_id: ContextVar[str] = ContextVar("request_id", default="")

_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_TOKEN = re.compile(r"(/(?:sign-in|invited|reset)/)[^/\s]+")
_PLAIN_VALUE = re.compile(r"[^\s\"=]+")


def new_request_id(given: str = "") -> str:
    """The one that a proxy gave, if it has the form of one."""
    return given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex[:16]


def fields(**values: Any) -> dict[str, Any]:
    """For a logger's `extra`: ids, counts, durations and outcomes, never text."""
    return {"fields": values}


class _Formatter(logging.Formatter):
    def __init__(self, *, show_messages: bool = False) -> None:
        super().__init__()
        self._show_messages = show_messages

    def _message(self, record: logging.LogRecord) -> str:
        return _TOKEN.sub(r"\1…", record.getMessage())

    def _fields(self, record: logging.LogRecord) -> Mapping[str, Any]:
        told = dict(getattr(record, "fields", {}))
        if current := request_id.get():
            told["request"] = current
        return told

    def _fault(self, record: logging.LogRecord) -> str:
        if not record.exc_info or record.exc_info[1] is None:
            return ""
        if self._show_messages:
            return self.formatException(record.exc_info)
        return "\n".join(_without_words(record.exc_info[1]))


def _without_words(error: BaseException | None) -> Iterator[str]:
    """The kinds and places of an error and of what it came from, the first cause first."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for one in reversed(chain):
        for frame in traceback.extract_tb(one.__traceback__):
            yield f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}'
        yield f"{type(one).__module__}.{type(one).__qualname__}"


class LineFormatter(_Formatter):
    """time level logger message key=value …"""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(" ", "milliseconds")
        words = [at.removesuffix("+00:00"), record.levelname, record.name, self._message(record)]
        words += [f"{name}={_value(value)}" for name, value in self._fields(record).items()]
        fault = self._fault(record)
        return " ".join(words) + (f"\n{fault}" if fault else "")


def _value(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text if _PLAIN_VALUE.fullmatch(text) else json.dumps(text, ensure_ascii=False)


class JsonFormatter(_Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": self._message(record),
            **self._fields(record),
        }
        if fault := self._fault(record):
            told["fault"] = fault
        return json.dumps(told, ensure_ascii=False, default=str)
