"""What of the conversation the model sees: for now the newest messages, behind the Recall port."""

from __future__ import annotations

from typing import Any

from chat import store
from chat.agent.values import History
from chat.agent.window import newest
from chat.database import in_database
from chat.metrics import RECALL
from chat.models import Run
from memory.service import count_tokens


class NewestMessages:
    """The newest `max_messages` before a run's question, cleaned when written, then cut."""

    def __init__(self, run: Run, *, max_messages: int) -> None:
        self._run = run
        self._max_messages = max_messages
        self.receipt: dict[str, Any] = {}

    async def recall(self, question: str, *, budget_tokens: int) -> History:
        with RECALL.time():
            return await self._recall(budget_tokens)

    async def _recall(self, budget_tokens: int) -> History:
        messages, n_total = await in_database(store.clean_history)(self._run, self._max_messages)
        history = newest(
            messages,
            n_total=n_total,
            max_messages=self._max_messages,
            budget_tokens=budget_tokens,
            count_tokens=count_tokens,
        )
        self.receipt = dict(history.receipt)
        return history
