"""Sessions that know whose they are, so that a person can see and end each of them.

The engine is Django's own over a table with more columns, as its documentation shows.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from chat.accounts.models import Session
from chat.accounts.visitors import AGENT_CHARS, Visitor, current
from chat.hub import hub

SIGNED_IN_AT = "signed_in_at"
SEEN_EVERY = timedelta(minutes=1)
NUDGE_SECONDS = 2.0


class SessionStore(DatabaseStore):
    """`row` is the session as it was read; None for a new one."""

    row: Session | None = None

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _get_session_from_db(self) -> Session | None:
        self.row = super()._get_session_from_db()  # type: ignore[misc]
        return self.row

    async def _aget_session_from_db(self) -> Session | None:
        self.row = await super()._aget_session_from_db()  # type: ignore[misc]
        return self.row

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        return self._described(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        return self._described(await super().acreate_model_instance(data), data)

    def _described(self, made: Any, data: dict[str, Any]) -> Any:
        visitor, before = current(), self.row
        made.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        made.signed_in_at = parse_datetime(data.get(SIGNED_IN_AT, ""))
        made.seen_at = timezone.now()
        if visitor:
            made.address, made.agent = visitor.address, visitor.agent[:AGENT_CHARS]
        elif before:
            made.address, made.agent = before.address, before.agent
        return made


def touch(store: SessionStore, visitor: Visitor) -> None:
    """Notes that the session was seen now, once in a while."""
    row = store.row
    if row is None or row.user_id is None:
        return
    fresh = row.seen_at and timezone.now() - row.seen_at < SEEN_EVERY
    if fresh and row.address == visitor.address:
        return
    Session.objects.filter(pk=row.pk).update(
        seen_at=timezone.now(), address=visitor.address, agent=visitor.agent[:AGENT_CHARS]
    )


def of(user_id: int) -> QuerySet[Session]:
    """The person's sessions that are still good, the newest first."""
    return Session.objects.filter(user=user_id, expire_date__gt=timezone.now())


def is_open(key: str | None, user_id: int) -> bool:
    """Whether that session of that person still holds."""
    return bool(key) and of(user_id).filter(pk=key, user__is_active=True).exists()


def end(user_id: int, *, handle: str = "", keep: str | None = None) -> int:
    """Ends the session of that handle, or all but the one to keep; says how many ended.

    Their sockets close: at once where the nudge arrives, otherwise at their next look.
    """
    chosen = [row.pk for row in of(user_id) if row.pk != keep and handle in ("", row.handle)]
    Session.objects.filter(user=user_id, pk__in=chosen).delete()
    if chosen:
        transaction.on_commit(lambda: _nudge(user_id))
    return len(chosen)


def topic_of(user_id: int) -> str:
    """What sockets of the person listen to: one of their sessions may have ended."""
    return f"person.{user_id}"


def _nudge(user_id: int) -> None:
    # A broken layer costs promptness alone: each socket looks by itself as well.
    with suppress(Exception):
        async_to_sync(_tell)(user_id)


async def _tell(user_id: int) -> None:
    topic = topic_of(user_id)
    hub.wake(topic)
    async with asyncio.timeout(NUDGE_SECONDS):
        await hub.send_nudge([topic])
