"""What is remembered in files: every text of every file, and what waits for the person's yes."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from memory.index_models import (
    Block,
    Event,
    IndexState,
    Mark,
    Part,
    PartVectors,
    Posting,
    StoredFact,
)
from memory.summary_models import Summarised, Summary

__all__ = [
    "Block",
    "Event",
    "IndexState",
    "Mark",
    "MemoryFile",
    "Part",
    "PartVectors",
    "Posting",
    "Proposal",
    "Revision",
    "StoredFact",
    "Summarised",
    "Summary",
]


class OwnersRows(models.QuerySet):
    """Rows of one owner; there is no other way to them."""

    def of(self, owner_id: int) -> Self:
        path = getattr(self.model, "owner_path", "owner")
        return self.filter(**{path: owner_id})


class MemoryFile(models.Model):
    """A file of one owner. `text` and `ages` are those of its newest revision: `ages` holds the
    number of the revision that wrote each line."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memory_files"
    )
    path = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    ages = models.JSONField(default=list)
    changed_at = models.DateTimeField()

    objects = OwnersRows.as_manager()

    class Meta:
        ordering = ("path",)
        constraints = (
            models.UniqueConstraint(name="memory_path_once_an_owner", fields=("owner", "path")),
        )

    def __str__(self) -> str:
        return f"Memory file {self.pk}"


class Revision(models.Model):
    """A file's whole text after one change. `number` counts from 1 without gaps.

    `source` is the person's message that the change rests on; None for a person's own hand.
    """

    owner_path = "file__owner"

    class Author(models.TextChoices):
        PERSON = "person", "you"
        AGENT = "agent", "Lumina"
        IMPORT = "import", "import"

    file = models.ForeignKey(MemoryFile, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    author = models.CharField(max_length=10, choices=Author.choices)
    author_name = models.CharField(max_length=150, blank=True)
    reason = models.CharField(max_length=100, blank=True)
    source = models.ForeignKey(
        "chat.Message", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    objects = OwnersRows.as_manager()

    class Meta:
        ordering = ("file", "number")
        constraints = (
            models.UniqueConstraint(name="revision_number_once_a_file", fields=("file", "number")),
            models.CheckConstraint(name="revision_number_from_one", condition=Q(number__gte=1)),
            models.CheckConstraint(
                name="revision_author_known", condition=Q(author__in=("person", "agent", "import"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.file_id}/{self.number}"


class Proposal(models.Model):
    """A change that waits for the person's yes, and why it could not be made without.

    `source` is the person's message that it would rest on, `answer` the one that it came up in.
    """

    class Kind(models.TextChoices):
        APPEND = "append"
        REPLACE = "replace"
        FORGET = "forget"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memory_proposals"
    )
    path = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    text = models.TextField(blank=True)
    old = models.TextField(blank=True)
    why = models.TextField(blank=True)
    source = models.ForeignKey(
        "chat.Message", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    answer = models.ForeignKey(
        "chat.Message", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    objects = OwnersRows.as_manager()

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(
                name="proposal_kind_known", condition=Q(kind__in=("append", "replace", "forget"))
            ),
        )

    def __str__(self) -> str:
        return f"Proposal {self.pk}: {self.kind}"
