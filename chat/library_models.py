"""The local library as it is indexed: folders, their documents, and passages with their terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q

if TYPE_CHECKING:
    from chat.models import User


class VisibleQuerySet(models.QuerySet[Any]):
    """Rows that know, through `owner_path`, whose they are. Without an owner they are everybody's:
    the sample library."""

    def visible_to(self, user: User | int) -> Self:
        """The person's own and those of the sample library."""
        path = getattr(self.model, "owner_path", "owner")
        return self.filter(Q(**{path: user}) | Q(**{f"{path}__isnull": True}))

    def of(self, user: User | int) -> Self:
        return self.filter(**{getattr(self.model, "owner_path", "owner"): user})


class LibraryFolder(models.Model):
    """A folder of the server's disk whose documents can be searched. No owner: the sample."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="library_folders",
    )
    path = models.CharField(max_length=1_000)
    added_at = models.DateTimeField(auto_now_add=True)
    scanned_at = models.DateTimeField(null=True, blank=True)

    objects = VisibleQuerySet.as_manager()

    class Meta:
        ordering = ("path", "id")
        constraints = (
            models.UniqueConstraint(fields=("owner", "path"), name="library_folder_once"),
            models.UniqueConstraint(
                fields=("path",), condition=Q(owner=None), name="library_sample_folder_once"
            ),
        )

    def __str__(self) -> str:
        return self.path


class LibraryDocument(models.Model):
    """One file as it was read. `text` is what passages point into; `path` is inside the folder."""

    owner_path = "folder__owner"

    folder = models.ForeignKey(LibraryFolder, on_delete=models.CASCADE, related_name="documents")
    path = models.CharField(max_length=500)
    title = models.CharField(max_length=300)
    language = models.CharField(max_length=8)
    text = models.TextField()
    updated_on = models.DateField(null=True, blank=True)
    content_hash = models.CharField(max_length=80)
    mtime_ns = models.BigIntegerField()

    objects = VisibleQuerySet.as_manager()

    class Meta:
        ordering = ("folder", "path")
        constraints = (
            models.UniqueConstraint(fields=("folder", "path"), name="library_document_once"),
        )

    def __str__(self) -> str:
        return self.title


class LibraryPassage(models.Model):
    """The span [start, end) of a document's text, with the terms under which it is found: its own,
    and those of its heading, the title and the tags."""

    owner_path = "document__folder__owner"

    document = models.ForeignKey(LibraryDocument, on_delete=models.CASCADE, related_name="passages")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    terms = models.JSONField(default=list)

    objects = VisibleQuerySet.as_manager()

    class Meta:
        ordering = ("document", "start")
        constraints = (
            models.CheckConstraint(
                name="library_passage_not_empty", condition=Q(end__gt=F("start"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.document_id}[{self.start}:{self.end}]"
