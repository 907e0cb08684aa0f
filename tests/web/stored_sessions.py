"""Generated sessions put into the database, to be recalled from there and from memory alike."""

from __future__ import annotations

from dataclasses import replace

from django.utils import timezone

from chat.models import Conversation, Message
from memory.engine.values import Message as Said
from memory.ports import ReadMessage


class PlainMessages:
    """A `MessageReader` over messages of the engine, each the content of one stored message."""

    def __init__(self):
        self.parts = {}

    def put(self, conversation, messages, parent=None):
        """Append to a path; returns the messages as they are known from now on."""
        told = []
        for message in messages:
            text = "" if message.text.isspace() else message.text
            row = Message.objects.create(
                conversation=conversation, parent=parent, role="user", text=text,
                model_text=text, created_at=message.at or timezone.now(),
            )  # fmt: skip
            parent = row
            self.parts[row.pk] = replace(message, id=f"m{row.pk}")
            told.append(self.parts[row.pk])
        return told, parent

    def read(self, message_ids):
        rows = Message.objects.filter(pk__in=message_ids).select_related("conversation")
        return [
            ReadMessage(row.pk, row.conversation.owner_id, row.conversation_id, row.parent_id,
                        (self.parts[row.pk],))
            for row in rows
        ]  # fmt: skip

    def read_parts(self, keys):
        return [self.parts[int(key[1:])] for key in keys]

    def path(self, conversation_id, head_id):
        parents = dict(
            Message.objects.filter(conversation_id=conversation_id).values_list("pk", "parent_id")
        )
        path = []
        while head_id in parents:
            path.append(head_id)
            head_id = parents[head_id]
        return path[::-1]


def conversation_of(owner) -> Conversation:
    return Conversation.objects.create(owner=owner)


def said(text, role="user", **values) -> Said:
    return Said("new", role, text, **values)
