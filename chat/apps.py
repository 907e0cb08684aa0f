from typing import Any

from django.apps import AppConfig
from django.db.models.signals import pre_delete


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import checks, summarising  # noqa: F401
        from chat.accounts import receivers
        from chat.memory_reader import StoredMessages
        from chat.models import Source
        from chat.session import KeptFacts
        from memory.service import facts_from, read_messages_with

        read_messages_with(StoredMessages())
        facts_from(KeptFacts())
        summarising.connect()
        receivers.connect()
        # Whoever deletes a source, what a later turn recalled of it goes too.
        pre_delete.connect(_forget_copies, sender=Source, dispatch_uid="forget copies")


def _forget_copies(instance: Any, **_: Any) -> None:
    from chat.store.traces import forget_copies

    forget_copies(instance.pk)
