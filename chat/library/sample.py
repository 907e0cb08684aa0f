"""The library that comes with Lumina, so that the first question works without a network."""

from __future__ import annotations

import logging

from django.conf import settings

from chat.library.index import FolderUnreadable, scan_folder
from chat.library_models import LibraryFolder

logger = logging.getLogger("lumina.library")


def ensure_sample_library() -> None:
    """Takes up the sample library for everybody, as it is on the disk. Safe to run at every start:
    files that did not change are not read again."""
    path = str(settings.BASE_DIR / "library")
    # Of a checkout that was moved, or of another one that used this database before.
    LibraryFolder.objects.filter(owner=None).exclude(path=path).delete()
    folder, _ = LibraryFolder.objects.get_or_create(owner=None, path=path)
    try:
        scan_folder(folder)
    except FolderUnreadable as error:
        logger.warning("The sample library is missing: %s", error)
