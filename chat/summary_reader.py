"""The conversation's messages as summaries read them: what was said, and what was read for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chat import tree
from chat.models import Message, Source
from memory import service


@dataclass(frozen=True, slots=True)
class ReadMessage:
    pk: int
    owner_id: int
    conversation_id: int
    parts: tuple[service.EngineMessage, ...]


class SummaryReader:
    """See `memory.summarising.Reader`. Snapshots are not read: a summary names pages only."""

    def read(self, message_ids: Sequence[int]) -> list[ReadMessage]:
        rows = Message.objects.filter(pk__in=message_ids).select_related("conversation")
        pages = list(
            Source.objects.filter(run__answer__in=message_ids)
            .order_by("number")
            .values_list("run__answer_id", "pk", "provider", "url", "read_at")
        )
        return [
            ReadMessage(
                row.pk, row.conversation.owner_id, row.conversation_id, tuple(_parts(row, pages))
            )
            for row in rows
        ]

    def path(self, conversation_id: int, head_id: int) -> list[int]:
        return tree.path_ids(conversation_id, head_id)


def _parts(row: Message, pages: Sequence[tuple]) -> Iterator[service.EngineMessage]:
    if not row.model_text:
        return
    for answer_id, pk, provider, url, read_at in pages:
        if answer_id == row.pk:
            yield service.EngineMessage(f"s{pk}", "tool", "", read_at, tool=provider, target=url)
    by_user = row.role == Message.Role.USER
    yield service.EngineMessage(
        f"m{row.pk}", "user" if by_user else "assistant", row.model_text, row.created_at
    )
