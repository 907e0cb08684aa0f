"""One socket of one page: questions and wishes in, events with their puts out.

A handler never awaits a run: Channels gives a socket its messages one at a time, and Stop must be
heard. What the page shows of a conversation is followed in a task of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import DatabaseError

from chat import metrics, store
from chat.accounts import asking, rules, sessions, visitors
from chat.database import in_database
from chat.following import Follower
from chat.forms import AskForm
from chat.hub import hub
from chat.logs import fields
from chat.runs import manager

logger = logging.getLogger("lumina.socket")

SIGNED_OUT = 4401
MAX_MESSAGE_CHARS = 1_000_000
LOOK_AT_SESSION_SECONDS = 20.0


class PageConsumer(AsyncWebsocketConsumer):
    """Messages in: JSON objects with a `type`, which is one of the doors."""

    DOORS = ("ask", "stop", "watch")

    # The process listens to the channel layer once for all its sockets: see chat.hub.
    channel_layer_alias = "none"
    _follower: Follower | None = None
    _following: asyncio.Task[None] | None = None
    _watching: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        user = self.scope.get("user")
        await self.accept()
        metrics.OPEN_SOCKETS.inc()
        if user is None or not user.is_authenticated:
            await self.close(code=SIGNED_OUT)
            return
        self.owner = user
        self.address = visitors.address_of_scope(self.scope, behind_proxy=rules.behind_proxy())
        self._watching = asyncio.create_task(self._watch_session())

    async def disconnect(self, code: int) -> None:
        metrics.OPEN_SOCKETS.dec()
        if self._watching:
            self._watching.cancel()
        await self._unfollow()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not await self._is_signed_in():
            return
        message = _parsed(text_data)
        if message is None:
            await self._refuse("bad_message", "The page sent something unreadable. Reload it.")
            return
        kind = message.get("type")
        if kind not in self.DOORS:
            await self._refuse(
                "bad_type",
                "The page asked for something this server does not know. Reload it.",
                message,
            )
            return
        await getattr(self, f"_{kind}")(message)

    # --- What the page can ask for -------------------------------------------------------------

    async def _ask(self, message: dict[str, Any]) -> None:
        form = AskForm(message)
        if not form.is_valid():
            await self._refuse("invalid", form.first_error(), message)
            return
        try:
            run, is_new = await in_database(asking.begin_run)(self.owner, form.ask(), self.address)
        except store.Refused as refused:
            await self._refuse(refused.code, str(refused), message)
            return
        if is_new:
            manager.start(run.pk)
        await self._send(
            {
                "type": "accepted",
                "client_id": run.client_id,
                "conversation": run.conversation_id,
                "run": run.pk,
            }
        )
        if self._follower is None or self._follower.conversation_id != run.conversation_id:
            await self._follow(run.conversation_id, newest_run=run.pk - 1)
        hub.publish(run.conversation_id)

    async def _stop(self, message: dict[str, Any]) -> None:
        run_id = _number(message.get("run"))
        if run_id and await in_database(store.request_stop)(self.owner, run_id):
            manager.stop(run_id)
            return
        await self._refuse(
            "not_running", "There is nothing to stop: the answer has ended.", message
        )

    async def _watch(self, message: dict[str, Any]) -> None:
        """Follows a conversation: {conversation, runs: {id: last seq}, newest: id of a run}."""
        conversation = _number(message.get("conversation"))
        try:
            if not conversation:
                raise store.Refused("unknown", "There is no such conversation.")
            await in_database(store.own_conversation)(self.owner, conversation)
        except store.Refused as refused:
            await self._refuse(refused.code, str(refused), message)
            return
        runs = message.get("runs")
        known = {
            int(run): _number(seq) or 0
            for run, seq in (runs.items() if isinstance(runs, dict) else ())
            if str(run).isdecimal() and len(str(run)) < 19
        }
        await self._follow(conversation, runs=known, newest_run=_number(message.get("newest")) or 0)

    # --- The session ---------------------------------------------------------------------------

    async def _is_signed_in(self) -> bool:
        """Whether the session still holds; a socket whose session has ended closes."""
        key = self.scope["session"].session_key
        if await in_database(sessions.is_open)(key, self.owner.pk):
            return True
        await self._unfollow()
        await self.close(code=SIGNED_OUT)
        return False

    async def _watch_session(self) -> None:
        """Looks by itself as well: a nudge can be lost, and a session can simply be over."""
        async with hub.subscribed(sessions.topic_of(self.owner.pk)) as nudges:
            while True:
                await nudges.next(LOOK_AT_SESSION_SECONDS)
                with suppress(DatabaseError):
                    if not await self._is_signed_in():
                        return

    # --- Following -----------------------------------------------------------------------------

    async def _follow(
        self, conversation_id: int, *, runs: dict[int, int] | None = None, newest_run: int = 0
    ) -> None:
        await self._unfollow()
        self._follower = Follower(
            self.owner, conversation_id, self._send, runs=runs or {}, newest_run=newest_run
        )
        self._following = asyncio.create_task(self._run_follower(self._follower))

    async def _run_follower(self, follower: Follower) -> None:
        try:
            await follower.follow()
        except asyncio.CancelledError:
            raise
        except Exception:
            about = fields(conversation=follower.conversation_id)
            logger.exception("A conversation is no longer followed", extra=about)
            with suppress(Exception):
                await self.close(code=1011)

    async def _unfollow(self) -> None:
        if self._following:
            self._following.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._following
        self._follower = self._following = None

    # --- Out -----------------------------------------------------------------------------------

    async def _send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        await self.send(text_data=text)

    async def _refuse(self, code: str, reason: str, message: dict[str, Any] | None = None) -> None:
        client_id = str((message or {}).get("client_id") or "")[:64]
        await self._send(
            {"type": "refused", "code": code, "message": reason, "client_id": client_id}
        )


def _parsed(text: str | None) -> dict[str, Any] | None:
    if text is None or len(text) > MAX_MESSAGE_CHARS:
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _number(value: object) -> int | None:
    """A whole number that can be an id; anything else is none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
