"""The model that writes summaries, behind the port of memory, and the connection to both."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync

from chat.agent.errors import ModelError
from chat.agent.ports import ChatModel, Finished, TextDelta
from chat.agent.values import Message, Usage
from chat.memory_reader import StoredMessages
from chat.metrics import count_usage
from memory.service import Summariser, SummaryFailed, SummaryLimits, summarise_with

logger = logging.getLogger("lumina.summaries")

_DATA = "The conversation, one message a line:\n\n"


@dataclass(frozen=True, slots=True)
class ModelSummariser:
    """Asks a model chunk by chunk. `opened` gives the model and what closes its connections: they
    belong to the event loop of one call, which no request shares."""

    name: str
    seconds: float
    opened: Callable[[], Awaitable[tuple[ChatModel, Callable[[], Awaitable[None]]]]]

    def answers(self, told: str, chunks: Sequence[str], *, max_tokens: int) -> Sequence[str]:
        """What the model writes of each chunk. Raises SummaryFailed."""
        return async_to_sync(self._answers)(told, chunks, max_tokens)

    async def _answers(self, told: str, chunks: Sequence[str], max_tokens: int) -> list[str]:
        model, close = await self.opened()
        try:
            async with asyncio.timeout(self.seconds):
                return [await _answer(model, told, chunk, max_tokens) for chunk in chunks]
        except ModelError as error:
            raise SummaryFailed(str(error)) from error
        except TimeoutError:
            raise SummaryFailed(
                f"The model took longer than {self.seconds:.0f} s for the summary."
            ) from None
        finally:
            await close()


def connect() -> None:
    """Gives memory what it summarises with. What picks the model is loaded when it is needed."""
    summarise_with(StoredMessages(), _summariser, _limits)


def _summariser() -> Summariser | None:
    from chat.wiring import summariser

    return summariser()


def _limits() -> SummaryLimits:
    from chat.wiring import summary_limits

    return summary_limits()


async def _answer(model: ChatModel, told: str, chunk: str, max_tokens: int) -> str:
    """One answer, without tools. Of one that was cut by length, the last line does not count."""
    messages = [Message(role="system", text=told), Message(role="user", text=f"{_DATA}{chunk}")]
    pieces: list[str] = []
    stream: Any = model.stream(messages, (), max_tokens=max_tokens)
    async with aclosing(stream) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                pieces.append(event.text)
            elif isinstance(event, Finished):
                count_usage(event.usage or Usage())
                if event.reason == "length":
                    return "".join(pieces).rpartition("\n")[0]
    return "".join(pieces)
