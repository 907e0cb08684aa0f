"""Links that sign in or let a password be set: single use, for a while, only their hash stored."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat.models import SignInLink, User

LIFETIMES = {
    SignInLink.Purpose.SIGN_IN: timedelta(minutes=15),
    SignInLink.Purpose.RESET: timedelta(hours=24),
}
OWNER_NAME = "owner"


def the_owner() -> User:
    """The first superuser; made, without a password, on an installation that has none."""
    owner = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if owner:
        return owner
    owner, _ = User.objects.get_or_create(
        username=OWNER_NAME, defaults={"is_staff": True, "is_superuser": True}
    )
    if not owner.has_usable_password():
        owner.set_unusable_password()
    owner.is_staff = owner.is_superuser = owner.is_active = True
    owner.save()
    return owner


def new_link(user: User, purpose: SignInLink.Purpose = SignInLink.Purpose.SIGN_IN) -> str:
    """The token of a new link. It cannot be read again: only its hash is kept."""
    SignInLink.objects.filter(user=user, expires_at__lt=timezone.now()).delete()
    token = secrets.token_urlsafe(24)
    SignInLink.objects.create(
        user=user,
        purpose=purpose,
        token_hash=hashed(token),
        expires_at=timezone.now() + LIFETIMES[purpose],
    )
    return token


def is_open(token: str, purpose: SignInLink.Purpose = SignInLink.Purpose.SIGN_IN) -> bool:
    return _open_links(token, purpose).exists()


def user_of(token: str, purpose: SignInLink.Purpose) -> User | None:
    """Whose link it is, without using it."""
    link = _open_links(token, purpose).select_related("user").first()
    return link.user if link else None


def use(token: str, purpose: SignInLink.Purpose = SignInLink.Purpose.SIGN_IN) -> User | None:
    """The link's user, once. None when the link is unknown, used or too old."""
    with transaction.atomic():
        link = _open_links(token, purpose).select_related("user").first()
        if link is None:
            return None
        moved = SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now())
        return link.user if moved == 1 else None


def _open_links(token: str, purpose: SignInLink.Purpose) -> QuerySet[SignInLink]:
    return SignInLink.objects.filter(
        token_hash=hashed(token),
        purpose=purpose,
        used_at=None,
        expires_at__gt=timezone.now(),
        user__is_active=True,
    )


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
