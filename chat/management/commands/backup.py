"""Everything that an installation holds, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.accounts import audit
from chat.backup import BackupError, back_up


class Command(BaseCommand):
    help = "Write people, conversations, sources, memory and the library's index into one file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the new file; only its owner can read it")
        parser.add_argument(
            "--with-secret-key",
            action="store_true",
            help="include the key that signs sessions; whoever has the file then has it too",
        )
        parser.add_argument("--force", action="store_true", help="replace a file of that name")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"].expanduser()
        try:
            manifest = back_up(
                path, with_secret_key=options["with_secret_key"], overwrite=options["force"]
            )
        except BackupError as error:
            raise CommandError(str(error)) from error
        audit.note(audit.Action.EXPORTED, target="everything, as a backup")
        n_rows = sum(manifest.tables.values())
        size = path.stat().st_size / 1e6
        self.stdout.write(f"{path}: {n_rows} rows of {len(manifest.tables)} tables, {size:.1f} MB")
