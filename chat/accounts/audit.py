"""The log of what was done, by whom, to whom and from where. Never what it said."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from chat.accounts import rules
from chat.accounts.models import AuditEntry
from chat.accounts.visitors import current

Action = AuditEntry.Action


def note(
    action: Action,
    *,
    about: Any = None,
    by: Any = None,
    target: str = "",
    note: str = "",
) -> None:
    """Writes one entry. `by` is whoever is being served, unless it is given; nobody in a command.

    `target` is a kind and an id, such as "conversation 3". `note` is what an operator stated as a
    reason, or the name of a setting: no words of a conversation belong there.
    """
    visitor = current()
    actor = by if by is not None else (visitor.person() if visitor else None)
    AuditEntry.objects.create(
        at=timezone.now(),
        action=action,
        by_id=getattr(actor, "pk", None),
        by_name=_name(actor),
        about_id=getattr(about, "pk", None),
        about_name=_name(about),
        address=visitor.address if visitor else "",
        target=target[:100],
        note=note[:300],
    )


def _name(person: Any) -> str:
    return person.get_username() if getattr(person, "pk", None) else ""


def of_person(user_id: int) -> QuerySet[AuditEntry]:
    """What the person did, and what was done to their account."""
    return AuditEntry.objects.filter(Q(by_id=user_id) | Q(about_id=user_id))


def everything() -> QuerySet[AuditEntry]:
    return AuditEntry.objects.all()


def drop_old() -> None:
    lifetime = rules.audit_lifetime()
    if lifetime:
        AuditEntry.objects.filter(at__lt=timezone.now() - lifetime).delete()
