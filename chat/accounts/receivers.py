"""What is logged wherever it happens, so that no new door can forget it: coming in, going out, and
what is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.apps import apps
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_delete
from django.http import HttpRequest
from django.utils import timezone

from chat.accounts import audit
from chat.accounts.audit import Action
from chat.accounts.sessions import SIGNED_IN_AT

DELETIONS = {
    "chat.conversation": "conversation",
    "chat.libraryfolder": "library folder",
    "chat.user": "account",
    "memory.memoryfile": "memory file",
}


_with_an_account: ContextVar[bool] = ContextVar("with_an_account", default=False)


@contextmanager
def with_an_account() -> Iterator[None]:
    """What is deleted within goes along with an account that is deleted right after."""
    token = _with_an_account.set(True)
    try:
        yield
    finally:
        _with_an_account.reset(token)


def connect() -> None:
    user_logged_in.connect(_signed_in, dispatch_uid="lumina")
    user_logged_out.connect(_signed_out, dispatch_uid="lumina")
    user_login_failed.connect(_failed, dispatch_uid="lumina")
    memory: Any = apps.get_app_config("memory")
    memory.exported.connect(_exported, dispatch_uid="lumina")
    for model in DELETIONS:
        post_delete.connect(_deleted, sender=model, dispatch_uid=f"lumina {model}")


def _signed_in(sender: Any, request: HttpRequest | None, user: Any, **more: Any) -> None:
    if request is not None and hasattr(request, "session"):
        request.session[SIGNED_IN_AT] = timezone.now().isoformat()
    audit.note(Action.SIGNED_IN, by=user, about=user)


def _signed_out(sender: Any, request: HttpRequest, user: Any, **more: Any) -> None:
    if user is not None:
        audit.note(Action.SIGNED_OUT, by=user, about=user)


def _failed(sender: Any, credentials: dict[str, Any], **more: Any) -> None:
    """The typed name is kept only when it is somebody's: people type passwords there too."""
    from chat.models import User

    known = User.objects.filter(username=credentials.get("username") or "").first()
    audit.note(Action.SIGN_IN_FAILED, by=_nobody(), about=known)


def _nobody() -> Any:
    """Somebody without an id: whoever fails to sign in is nobody yet."""
    from django.contrib.auth.models import AnonymousUser

    return AnonymousUser()


def _exported(sender: Any, owner_id: int, **more: Any) -> None:
    from chat.models import User

    audit.note(Action.EXPORTED, about=User.objects.get(pk=owner_id), target="memory files")


def _deleted(sender: Any, instance: Any, **more: Any) -> None:
    """One entry for what a person deletes; none for what goes along with an account."""
    label = instance._meta.label_lower
    origin = more.get("origin")
    whole_account = getattr(getattr(origin, "_meta", None), "label_lower", "") == "chat.user"
    if (whole_account or _with_an_account.get()) and label != "chat.user":
        return
    audit.note(Action.DELETED, target=f"{DELETIONS[label]} {instance.pk}")
