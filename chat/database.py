"""The way from a coroutine to the database: one thread, one connection that stays open.

Channels' own bridge closes the connection after every call; a run that stores five times a second
would open five. Here a connection is closed only when it has failed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import Error, connections

Given = ParamSpec("Given")
Result = TypeVar("Result")


def in_database(work: Callable[Given, Result]) -> Callable[Given, Awaitable[Result]]:
    """The same function for use in a coroutine."""

    def with_working_connection(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return work(*args, **kwargs)
        except Error:
            _close_broken()
            raise

    return sync_to_async(with_working_connection, thread_sensitive=True)


def _close_broken() -> None:
    """The next call opens a new connection in place of one that does not answer."""
    for connection in connections.all(initialized_only=True):
        if connection.connection and not connection.in_atomic_block and not connection.is_usable():
            connection.close()
