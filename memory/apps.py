from typing import Any

from django.apps import AppConfig
from django.db.models.signals import pre_delete
from django.dispatch import Signal


class MemoryConfig(AppConfig):
    name = "memory"
    exported = Signal()  # somebody's files were written to a folder; brings `owner_id`

    def ready(self) -> None:
        # Whoever deletes a message, a page, the admin or a cascade, what came from it goes too.
        pre_delete.connect(_forget, sender="chat.Message", dispatch_uid="forget a message")


def _forget(instance: Any, **_: Any) -> None:
    from memory.forgetting import forget_message

    forget_message(instance)
