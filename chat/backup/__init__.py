"""Backing up an installation into one file, and putting it back: everything or nothing."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import is_password_usable
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.db.models import Model
from django.utils import timezone

from chat.backup.archive import BackupError, Damaged, Manifest, Reader, opened, written
from chat.backup.tables import (
    applied_migrations,
    continue_counting,
    empty,
    lines_of,
    load,
    snapshot,
    tables,
)
from chat.models import LibraryFolder, User

__all__ = ["BackupError", "Damaged", "back_up", "restore"]

# What a fresh installation has by itself.
MADE_AT_START = {
    "auth.Permission",
    "contenttypes.ContentType",
    "chat.User",
    "chat.LibraryFolder",
    "chat.LibraryDocument",
    "chat.LibraryPassage",
}


def back_up(path: Path, *, with_secret_key: bool = False, overwrite: bool = False) -> Manifest:
    with written(path, overwrite=overwrite) as writer, snapshot():
        for model in tables():
            writer.add_table(model._meta.label, lines_of(model))
        if with_secret_key:
            writer.add_secret_key(settings.SECRET_KEY)
        return writer.finish(timezone.now().isoformat(), applied_migrations())


def restore(path: Path, *, overwrite: bool = False) -> Manifest:
    """Puts back what a backup holds. The database is as it was before if anything goes wrong."""
    with opened(path) as reader:
        _check_version(reader.manifest)
        if not overwrite and not is_fresh():
            raise BackupError(
                "This installation is in use; restoring would replace everything in it. "
                "Back it up first, then add --force."
            )
        _replace_all(reader)
        if reader.secret_key:
            _keep_secret_key(reader.secret_key)
        return reader.manifest


def _check_version(manifest: Manifest) -> None:
    ours, theirs = set(applied_migrations()), set(manifest.migrations)
    if missing := sorted(theirs - ours):
        raise BackupError(
            f"The backup is newer than this installation, which lacks {missing[0]}. Upgrade "
            "Lumina and run `python manage.py migrate`, then restore."
        )
    if newer := sorted(ours - theirs):
        raise BackupError(
            f"The backup is older than this installation, which also has {newer[0]}. Restore it "
            "with the version that made it, then upgrade."
        )
    labels = [model._meta.label for model in tables()]
    if set(labels) != set(manifest.tables):
        raise Damaged("The backup does not hold the tables of this version.")


def is_fresh() -> bool:
    """Whether there is nothing but what the first start makes: no one's work can be lost."""
    if any(
        model._base_manager.exists() for model in tables() if model._meta.label not in MADE_AT_START
    ):
        return False
    people = list(User.objects.all()[:2])
    has_password = any(is_password_usable(one.password) and one.password for one in people)
    own_folders = LibraryFolder.objects.filter(owner__isnull=False).exists()
    return len(people) < 2 and not has_password and not own_folders


def _replace_all(reader: Reader) -> None:
    models = tables()
    try:
        with transaction.atomic():
            empty(models)
            for model in models:
                _put_back(model, reader)
            continue_counting(models)
    except DatabaseError as error:  # what points nowhere is seen at the transaction's end
        raise Damaged(
            f"The rows do not fit together; nothing was changed. {type(error).__name__}"
        ) from error


def _put_back(model: type[Model], reader: Reader) -> None:
    label = model._meta.label
    try:
        with closing(reader.lines(label)) as lines:
            n_rows = load(model, lines)
    except (ValueError, TypeError, ValidationError, DatabaseError) as error:
        raise Damaged(f"The rows of {label} do not fit; nothing was changed.") from error
    if n_rows != reader.manifest.tables[label]:
        raise Damaged(f"Rows of {label} are missing; nothing was changed.")


def _keep_secret_key(key: str) -> None:
    path = Path(settings.VAR_DIR) / "secret_key"
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key)
    part.replace(path)
