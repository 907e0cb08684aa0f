"""What the frame of every page shows beside its own matter: the sidebar."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from chat.models import Conversation
from memory.service import n_waiting

SIDEBAR_LENGTH = 40


def sidebar(request: HttpRequest) -> dict[str, Any]:
    """The person's newest conversations, and how many changes of memory wait for their yes.

    Nothing is looked up for a page that does not show them.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    rows = SimpleLazyObject(lambda: list(_newest(request)))
    return {
        "conversations": SimpleLazyObject(lambda: rows[:SIDEBAR_LENGTH]),
        "more_conversations": SimpleLazyObject(lambda: len(rows) > SIDEBAR_LENGTH),
        "memory_waiting": SimpleLazyObject(lambda: n_waiting(int(request.user.pk or 0))),
    }


def _newest(request: HttpRequest) -> Any:
    return Conversation.objects.filter(owner=request.user.pk)[: SIDEBAR_LENGTH + 1]
