"""Summaries of what left a conversation's window, and which messages each was made from."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q


class OwnersSummaries(models.QuerySet):
    def of(self, owner_id: int, conversation_id: int) -> Self:
        return self.filter(owner=owner_id, conversation=conversation_id)


class Summary(models.Model):
    """One span of a path, from its first to its last message, or the wish for it.

    `order` holds the numbers of the text's lines, the most telling first. `first_message` and
    `last_message` are ids that say where the span lies; which messages it holds is in `members`,
    whose rows go with them. `worked_on_until` is set while somebody makes it. An `error` beside a
    text says why no model wrote it.
    """

    class Status(models.TextChoices):
        WANTED = "wanted"
        MADE = "made"
        FAILED = "failed"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="summaries"
    )
    conversation = models.ForeignKey(
        "chat.Conversation", on_delete=models.CASCADE, related_name="summaries"
    )
    first_message = models.BigIntegerField()
    last_message = models.BigIntegerField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WANTED)
    text = models.TextField(blank=True)
    order = models.JSONField(default=list)
    n_tokens = models.PositiveIntegerField(default=0)
    n_messages = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    model_name = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)
    tries = models.PositiveIntegerField(default=0)
    next_try_at = models.DateTimeField()
    worked_on_until = models.DateTimeField(null=True, blank=True)
    made_at = models.DateTimeField(null=True, blank=True)

    objects = OwnersSummaries.as_manager()

    class Meta:
        ordering = ("conversation", "first_message", "last_message")
        constraints = (
            models.UniqueConstraint(
                name="summary_once_a_span",
                fields=("conversation", "first_message", "last_message"),
            ),
            models.CheckConstraint(
                name="summary_made_with_a_time",
                condition=Q(status="made", made_at__isnull=False)
                | (Q(status__in=("wanted", "failed")) & Q(made_at__isnull=True, text="")),
            ),
        )
        indexes = (models.Index(fields=("status", "next_try_at")),)

    def __str__(self) -> str:
        return f"Summary {self.pk} of {self.first_message} to {self.last_message}: {self.status}"


class Summarised(models.Model):
    """A message that a summary is made from; `place` is its place in the span, from 0."""

    summary = models.ForeignKey(Summary, on_delete=models.CASCADE, related_name="members")
    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="+")
    place = models.PositiveIntegerField()

    class Meta:
        ordering = ("summary", "place")
        constraints = (
            models.UniqueConstraint(name="message_once_a_summary", fields=("summary", "message")),
        )

    def __str__(self) -> str:
        return f"{self.summary_id}/{self.place}: {self.message_id}"
