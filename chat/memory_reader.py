"""How memory reads the conversation: the `MessageReader` port over the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from chat import tree
from chat.models import Message, Source
from memory.service import HistoryMessage, ReadMessage


class StoredMessages:
    def read(self, message_ids: Sequence[int]) -> list[ReadMessage]:
        rows = Message.objects.select_related("conversation").in_bulk(message_ids)
        sources: dict[int, list[Source]] = defaultdict(list)
        read = Source.objects.filter(run__answer__in=list(rows), recalled=False)
        for source in read.select_related("run").order_by("number"):
            sources[source.run.answer_id].append(source)
        return [_read(rows[pk], sources[pk]) for pk in message_ids if pk in rows]

    def path(self, conversation_id: int, head_id: int | None) -> list[int]:
        return tree.path_ids(conversation_id, head_id)


def _read(row: Message, sources: Sequence[Source]) -> ReadMessage:
    parts = [
        HistoryMessage(
            id=f"s{source.pk}",
            role="tool",
            text=source.snapshot,
            at=source.read_at,
            tool=source.provider,
            target=source.url,
        )
        for source in sources
        if source.snapshot
    ]
    if row.model_text:
        user = row.role == Message.Role.USER
        parts.append(
            HistoryMessage(
                id=f"m{row.pk}",
                role="user" if user else "assistant",
                text=row.model_text,
                at=row.created_at,
            )
        )
    return ReadMessage(
        id=row.pk,
        owner_id=row.conversation.owner_id,
        conversation_id=row.conversation_id,
        parent_id=row.parent_id,
        parts=tuple(parts),
    )
