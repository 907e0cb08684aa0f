"""The one way in which an operator reads somebody's conversations: for a stated reason, for a
stated time, with a permission that only the owner has unless it is given, and in the open. Every
step is in the log, which the person sees on their account page."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from chat.accounts import audit
from chat.accounts.audit import Action
from chat.accounts.models import ContentAccess
from chat.accounts.people import NotAllowed
from chat.models import Conversation, User

PERMISSION = "chat.open_content"
HOURS = (1, 4, 24)
REASON_CHARS = 300


def may_open(operator: User) -> bool:
    return operator.is_staff and operator.has_perm(PERMISSION)


def open_content(operator: User, person: User, reason: str, hours: int) -> ContentAccess:
    """Raises NotAllowed."""
    reason = " ".join(reason.split())[:REASON_CHARS]
    if not may_open(operator):
        raise NotAllowed("You do not have the permission to read what people wrote.")
    if operator.pk == person.pk:
        raise NotAllowed("Your own conversations need no permission.")
    if len(reason) < 10:
        raise NotAllowed("State the reason in a few words; the person will read it.")
    if hours not in HOURS:
        raise NotAllowed(f"Choose one of {', '.join(map(str, HOURS))} hours.")
    now = timezone.now()
    with transaction.atomic():
        made = ContentAccess.objects.create(
            operator=operator,
            person=person,
            reason=reason,
            opened_at=now,
            ends_at=now + timedelta(hours=hours),
        )
        target = f"access {made.pk}, {hours} h"
        audit.note(Action.CONTENT_OPENED, by=operator, about=person, target=target, note=reason)
    return made


def open_access(operator: User, person: User) -> ContentAccess | None:
    """The operator's leave to read this person's conversations, while it lasts."""
    if not may_open(operator):
        return None
    rows = ContentAccess.objects.filter(operator=operator, person=person)
    return rows.filter(ends_at__gt=timezone.now()).first()


def close(operator: User, person: User) -> None:
    now = timezone.now()
    rows = ContentAccess.objects.filter(operator=operator, person=person, ends_at__gt=now)
    if rows.update(ends_at=now):
        audit.note(Action.CONTENT_CLOSED, by=operator, about=person)


def note_read(operator: User, conversation: Conversation) -> None:
    target = f"conversation {conversation.pk}"
    audit.note(Action.CONTENT_READ, by=operator, about=conversation.owner, target=target)
