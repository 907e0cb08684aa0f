"""Invitations: single use, for some days, only their hash is stored."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat.accounts import audit, rules
from chat.accounts.links import hashed
from chat.accounts.models import Invitation
from chat.models import User


def invite(by: User, *, email: str = "", for_operator: bool = False) -> str:
    """The token of a new invitation. It cannot be read again: only its hash is kept."""
    token = secrets.token_urlsafe(24)
    made = Invitation.objects.create(
        made_by=by,
        email=email,
        for_operator=for_operator,
        token_hash=hashed(token),
        expires_at=timezone.now() + rules.invitation_lifetime(),
    )
    audit.note(audit.Action.INVITED, by=by, target=f"invitation {made.pk}")
    return token


def open_ones() -> QuerySet[Invitation]:
    """Those that can be used. An invitation ends with the right of whoever made it."""
    return Invitation.objects.filter(
        used_at=None,
        expires_at__gt=timezone.now(),
        made_by__is_active=True,
        made_by__is_staff=True,
    )


def is_open(token: str) -> bool:
    return open_ones().filter(token_hash=hashed(token)).exists()


def join(token: str, username: str, password: str) -> User | None:
    """The account that the invitation makes, once. None when it cannot be used (any more)."""
    with transaction.atomic():
        found = open_ones().filter(token_hash=hashed(token)).select_related("made_by").first()
        if found is None:
            return None
        moved = Invitation.objects.filter(pk=found.pk, used_at=None).update(used_at=timezone.now())
        if moved != 1:
            return None
        as_operator = found.for_operator and found.made_by.is_superuser
        person = new_account(username, password, email=found.email, is_operator=as_operator)
        Invitation.objects.filter(pk=found.pk).update(used_by=person)
    return person


def new_account(
    username: str, password: str, *, email: str = "", is_operator: bool = False
) -> User:
    person = User.objects.create_user(username, email, password, is_staff=is_operator)
    audit.note(audit.Action.JOINED, by=person, about=person)
    return person


def withdraw(by: User, pk: int) -> bool:
    n, _ = Invitation.objects.filter(pk=pk, used_at=None).delete()
    if n:
        audit.note(audit.Action.INVITATION_WITHDRAWN, by=by, target=f"invitation {pk}")
    return bool(n)
