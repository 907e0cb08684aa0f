"""Memory files out to a folder of plain files, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory.folder import FolderRefused, Report, export_folder, import_folder


class Command(BaseCommand):
    help = "Export the memory files to a folder, or take the edits of one back."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        out = actions.add_parser("export", help="write the files to a folder")
        back = actions.add_parser("import", help="take what was edited in the folder as revisions")
        for action in (out, back):
            action.add_argument("folder", type=Path)
            action.add_argument("--owner", default="", help="whose; the first superuser's if unset")
        back.add_argument("--author", default="", help="who edited; the owner if unset")
        back.add_argument(
            "--delete", action="store_true", help="delete what is gone from the folder"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        owner = _person(options["owner"])
        folder = options["folder"].expanduser()
        try:
            if options["action"] == "export":
                report = export_folder(owner.pk, folder)
                config: Any = apps.get_app_config("memory")
                config.exported.send(type(self), owner_id=owner.pk)
            else:
                author = options["author"] or owner.get_username()
                report = import_folder(owner.pk, folder, author, delete=options["delete"])
        except FolderRefused as refused:
            raise CommandError(str(refused)) from refused
        self._tell(report, "written" if options["action"] == "export" else "taken")

    def _tell(self, report: Report, verb: str) -> None:
        for path in report.written:
            self.stdout.write(f"{verb}: {path}")
        for path in report.removed:
            self.stdout.write(f"deleted: {path}")
        for path, why in report.passed_over.items():
            self.stdout.write(self.style.WARNING(f"passed over: {path} {why}"))
        for path, diff in report.conflicts.items():
            self.stdout.write(self.style.ERROR(f"conflict: {path} was changed in both places"))
            self.stdout.write(diff)
        self.stdout.write(
            f"{len(report.written)} {verb}, {report.unchanged} unchanged, "
            f"{len(report.removed)} deleted, {len(report.passed_over)} passed over, "
            f"{len(report.conflicts)} in conflict"
        )
        if report.conflicts:
            raise CommandError(
                "Files that were changed in both places were left as they are. Make the folder's "
                "text equal to Lumina's, or the other way round, and run the command again."
            )


def _person(username: str) -> Any:
    people = get_user_model().objects.filter(is_active=True)
    if username:
        found = people.filter(username=username).first()
        if found is None:
            raise CommandError(f"There is no user named {username!r}.")
        return found
    owner = people.filter(is_superuser=True).order_by("pk").first()
    if owner is None:
        raise CommandError("There is no owner yet. Start Lumina once, or name one with --owner.")
    return owner
