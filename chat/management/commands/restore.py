"""Puts a backup back: into an empty installation, or, when forced, in place of everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.backup import BackupError, restore


class Command(BaseCommand):
    help = "Put back what `backup` wrote. Stop the server and the worker first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--force", action="store_true", help="replace everything that is here now"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            manifest = restore(options["file"].expanduser(), overwrite=options["force"])
        except BackupError as error:
            raise CommandError(str(error)) from error
        n_rows = sum(manifest.tables.values())
        self.stdout.write(f"{n_rows} rows are back, as of {manifest.made_at}. Start Lumina again.")
