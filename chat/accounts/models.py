"""Who may come in, from where, how much they may use and what was done. No content is in any of it:
an operator may read all of these tables."""

from __future__ import annotations

import hashlib
from typing import Any

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import F, Q


class Invitation(models.Model):
    """A way for one new person to make an account. Only a hash of the token is kept."""

    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations_made"
    )
    email = models.EmailField(blank=True)
    for_operator = models.BooleanField(default=False)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="invitations_used",
    )

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return f"Invitation {self.pk}, until {self.expires_at:%Y-%m-%d %H:%M}"


class Session(AbstractBaseSession):
    """One browser that is signed in, as its person sees it: where from, and when last."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="sessions"
    )
    address = models.CharField(max_length=64, blank=True)
    agent = models.CharField(max_length=300, blank=True)
    signed_in_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    class Meta(AbstractBaseSession.Meta):
        ordering = ("-seen_at",)

    @classmethod
    def get_session_store_class(cls) -> Any:
        from chat.accounts.sessions import SessionStore

        return SessionStore

    @property
    def handle(self) -> str:
        """Names the session on a page. The key itself is as good as a password."""
        return hashlib.sha256(self.session_key.encode()).hexdigest()[:24]


class RateCount(models.Model):
    """How far ahead of its rate something is: it is back at nothing at `settled_at`."""

    key = models.CharField(max_length=100, unique=True)
    settled_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key


class Usage(models.Model):
    """What a person used on one day of their time zone. Deleting conversations gives none back."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="usage"
    )
    day = models.DateField()
    asks = models.PositiveIntegerField(default=0)
    searches = models.PositiveIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ("owner", "-day")
        verbose_name_plural = "usage"
        constraints = (models.UniqueConstraint(name="usage_once_a_day", fields=("owner", "day")),)

    def __str__(self) -> str:
        return f"Use of {self.owner_id} on {self.day}"


class Quota(models.Model):
    """One person's own limits. None takes the installation's, 0 is no limit."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="quota"
    )
    tokens_a_day = models.PositiveBigIntegerField(null=True, blank=True)
    tokens_a_month = models.PositiveBigIntegerField(null=True, blank=True)
    snapshot_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    library_bytes = models.PositiveBigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Quota of {self.owner_id}"


class ContentAccess(models.Model):
    """Leave to read one person's conversations, for a stated reason and a stated time."""

    operator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="content_opened"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="content_accesses"
    )
    reason = models.CharField(max_length=300)
    opened_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        ordering = ("-opened_at", "-id")
        verbose_name_plural = "content accesses"
        permissions = (("open_content", "Can open a person's conversations, for a reason"),)
        constraints = (
            models.CheckConstraint(
                name="access_ends_later", condition=Q(ends_at__gte=F("opened_at"))
            ),
            models.CheckConstraint(name="access_has_a_reason", condition=~Q(reason="")),
        )

    def __str__(self) -> str:
        return f"Access {self.pk} until {self.ends_at:%Y-%m-%d %H:%M}"


class StoredSetting(models.Model):
    """A setting that an owner stored. `closed` is its encrypted value."""

    name = models.CharField(max_length=64, unique=True)
    closed = models.TextField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class AuditEntry(models.Model):
    """Who did what to whom, when and from where. The people are ids and names, not links: an
    entry outlives the accounts that it is about."""

    class Action(models.TextChoices):
        SIGNED_IN = "signed_in", "signed in"
        SIGN_IN_FAILED = "sign_in_failed", "sign-in failed"
        SIGNED_OUT = "signed_out", "signed out"
        JOINED = "joined", "made an account"
        INVITED = "invited", "made an invitation"
        INVITATION_WITHDRAWN = "invitation_withdrawn", "withdrew an invitation"
        RESET_LINK = "reset_link", "made a link for a new password"
        PASSWORD_CHANGED = "password_changed", "set a new password"
        SESSION_ENDED = "session_ended", "ended sessions"
        DISABLED = "disabled", "disabled an account"
        ENABLED = "enabled", "enabled an account"
        ROLE_CHANGED = "role_changed", "changed a role"
        QUOTA_CHANGED = "quota_changed", "changed a quota"
        CONTENT_OPENED = "content_opened", "got leave to read conversations"
        CONTENT_READ = "content_read", "read a conversation"
        CONTENT_CLOSED = "content_closed", "gave back the leave to read"
        DELETED = "deleted", "deleted"
        EXPORTED = "exported", "exported"
        SETTING_CHANGED = "setting_changed", "changed a setting"
        INDEX_REBUILT = "index_rebuilt", "built an index anew"

    at = models.DateTimeField(db_index=True)
    action = models.CharField(max_length=32, choices=Action.choices)
    by_id = models.BigIntegerField(null=True, db_index=True)
    by_name = models.CharField(max_length=150, blank=True)
    about_id = models.BigIntegerField(null=True, db_index=True)
    about_name = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=64, blank=True)
    target = models.CharField(max_length=100, blank=True)
    note = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("-at", "-id")
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.action}"
