"""What goes by itself when its time is over."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from chat.accounts import audit, limits
from chat.accounts.models import Invitation
from chat.accounts.sessions import SessionStore
from chat.models import SignInLink

KEPT = timedelta(days=30)


def tidy() -> None:
    """Safe at any time and as often as one likes."""
    SessionStore.clear_expired()
    SignInLink.objects.filter(expires_at__lt=timezone.now()).delete()
    Invitation.objects.filter(expires_at__lt=timezone.now() - KEPT).delete()
    limits.drop_settled()
    audit.drop_old()
