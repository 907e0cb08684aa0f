"""The conversation as memory reads it: what was said, and before an answer what was read for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from django.db.models import Prefetch, Q, QuerySet

from chat import tree
from chat.models import Message, Run, Source
from chat.statuses import RunStatus
from memory.service import HistoryMessage, ReadMessage

SAID, READ = "m", "s"
"""Before the key of a message, and of a source."""


class StoredMessages:
    """Implements the `MessageReader` of memory."""

    def read(self, message_ids: Collection[int]) -> list[ReadMessage]:
        # What was only recalled is remembered where it was first read.
        sources = Source.objects.filter(recalled=False).order_by("number")
        runs = Run.objects.prefetch_related(Prefetch("sources", sources))
        rows = Message.objects.filter(pk__in=message_ids).select_related("conversation")
        return [_read(row) for row in rows.prefetch_related(Prefetch("run", runs))]

    def read_parts(self, keys: Collection[str]) -> list[HistoryMessage]:
        said = Message.objects.filter(pk__in=_ids(keys, SAID))
        read = Source.objects.filter(pk__in=_ids(keys, READ))
        return [*map(_said, said), *map(_was_read, read)]

    def path(self, conversation_id: int, head_id: int) -> list[int]:
        return tree.path_ids(conversation_id, head_id)

    def pending(
        self, indexed: QuerySet[Message], limit: int, *, owner_id: int | None = None
    ) -> list[int]:
        rows = Message.objects.exclude(pk__in=indexed).exclude(_WRITTEN_NOW)
        if owner_id is not None:
            rows = rows.filter(conversation__owner_id=owner_id)
        return list(rows.order_by("-pk").values_list("pk", flat=True)[:limit])

    def leaves(self, conversation_id: int) -> list[int]:
        rows = Message.objects.filter(conversation_id=conversation_id, children=None)
        return list(rows.order_by("pk").values_list("pk", flat=True))


_WRITTEN_NOW = Q(run__status=RunStatus.RUNNING)


def _read(row: Message) -> ReadMessage:
    run = getattr(row, "run", None)
    read = map(_was_read, run.sources.all()) if run else ()
    said = [_said(row)] if row.model_text.strip() else []
    return ReadMessage(
        pk=row.pk,
        owner_id=row.conversation.owner_id,
        conversation_id=row.conversation_id,
        parent_id=row.parent_id,
        parts=(*read, *said),
        is_final=run is None or run.status != RunStatus.RUNNING,
    )


def _said(row: Message) -> HistoryMessage:
    role: Literal["user", "assistant"] = "user" if row.role == Message.Role.USER else "assistant"
    return HistoryMessage(f"{SAID}{row.pk}", role, row.model_text, at=row.created_at)


def _was_read(row: Source) -> HistoryMessage:
    return HistoryMessage(
        f"{READ}{row.pk}",
        "tool",
        row.snapshot,
        at=row.read_at,
        tool=row.provider or "page",
        target=row.url,
    )


def _ids(keys: Iterable[str], kind: str) -> list[int]:
    return [int(key[1:]) for key in keys if key.startswith(kind)]
