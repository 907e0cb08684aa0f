"""Forgetting what rests on messages: one by one as they go, or for a whole conversation at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from memory import store
from memory.models import IndexState, Proposal, Revision, Summary
from memory.stored.indexing import forget_indexed
from memory.summarising import forget_summarised

_going: ContextVar[int | None] = ContextVar("going", default=None)


def forget_message(message: Any) -> None:
    """A message is about to go, alone or with others."""
    if message.conversation_id == _going.get():
        return
    store.forget_message(message.pk)
    forget_indexed(message.pk)
    forget_summarised(message.pk)


@contextmanager
def whole_conversation(conversation_id: int) -> Iterator[None]:
    """Forgets all that rests on a conversation, which is to be deleted within: there no message is
    looked at one by one, which would hold up every other writer for long."""
    for model in (Revision, Proposal):
        resting = model.objects.filter(source__conversation=conversation_id)
        for message_id in set(resting.values_list("source_id", flat=True)):
            store.forget_message(message_id)
    Summary.objects.filter(conversation=conversation_id).delete()
    IndexState.objects.filter(pk=conversation_id).delete()
    token = _going.set(conversation_id)
    try:
        yield
    finally:
        _going.reset(token)
