"""The server's start and end: dead runs are marked when it starts, live ones when it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.db import DatabaseError

from chat.database import in_database

logger = logging.getLogger("lumina.server")

Message = MutableMapping[str, Any]


class Lifespan:
    _warming: asyncio.Task[None] | None = None

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await _start()
                self._warming = asyncio.create_task(_warm_up())
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                if self._warming:
                    self._warming.cancel()
                await _end()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _start() -> None:
    from chat import store

    try:
        swept = await in_database(store.sweep_all)()
    except DatabaseError as error:
        logger.warning(
            "Runs that died with the last server could not be marked: %s", type(error).__name__
        )
        return
    if swept:
        logger.info("%d runs had died with their server and are marked interrupted", swept)


async def _warm_up() -> None:
    from chat.services import warm_up

    await warm_up()


async def _end() -> None:
    from chat.runs import manager
    from chat.services import close_services

    await manager.shutdown()
    await close_services()
