"""The folders whose documents can be searched: add, list, remove and scan them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from chat.accounts.links import the_owner
from chat.library import ensure_sample_library
from chat.library.index import FolderUnreadable, ScanReport, scan_folder
from chat.library_models import LibraryFolder
from chat.models import User

_SHOWN_SKIPPED = 10
_PROGRESS_EVERY = 50


class Command(BaseCommand):
    help = "Add, list, remove or scan folders of Markdown, text and HTML files."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add = actions.add_parser("add", help="take a folder into the library, or read it anew")
        add.add_argument("path", help="the folder")
        remove = actions.add_parser("remove", help="take a folder out; its files stay on the disk")
        remove.add_argument("path", help="the folder, as `library list` shows it")
        for action in (add, remove):
            action.add_argument("--owner", default="", help="whose; the owner's by default")
        actions.add_parser("list", help="show the folders with their documents")
        actions.add_parser("scan", help="take up what has changed, in all folders")

    def handle(self, *args: Any, **options: Any) -> None:
        action = options["action"]
        if action == "add":
            self._add(_person(options["owner"]), options["path"])
        elif action == "remove":
            self._remove(_person(options["owner"]), options["path"])
        elif action == "list":
            self._list()
        else:
            self._scan()

    def _add(self, owner: User, given: str) -> None:
        path = _folder(given)
        folder, new = LibraryFolder.objects.get_or_create(owner=owner, path=path)
        try:
            report = scan_folder(folder, self._progress)
        except FolderUnreadable as error:
            if new:
                folder.delete()
            raise CommandError(str(error)) from error
        self._tell(path, report)
        if new and report.n_documents == 0:
            folder.delete()
            raise CommandError(
                f"Nothing in {path} can be read, so it was not added. Lumina reads Markdown (.md),"
                " plain text (.txt) and HTML files."
            )
        self.stdout.write(
            self.style.SUCCESS(f"{owner.username} can now search {_counted(report.n_documents)}.")
        )

    def _remove(self, owner: User, given: str) -> None:
        paths = {given, str(Path(given).expanduser().absolute()), _resolved(given)}
        folders = LibraryFolder.objects.of(owner).filter(path__in=paths)
        if not folders:
            raise CommandError(
                f"{owner.username} has no folder {given} in the library. `library list` shows all."
            )
        folders.delete()
        self.stdout.write(f"Taken out of the library: {given}. The files stay where they are.")

    def _list(self) -> None:
        folders = LibraryFolder.objects.select_related("owner").annotate(n=Count("documents"))
        for folder in folders:
            whose = folder.owner.username if folder.owner else "everybody (sample)"
            scanned = f"{folder.scanned_at:%Y-%m-%d %H:%M}" if folder.scanned_at else "never"
            self.stdout.write(
                f"{folder.path}\n    {_counted(folder.n)}, {whose}, scanned {scanned} UTC"
            )
        if not folders:
            self.stdout.write("The library is empty. Add a folder: library add PATH")

    def _scan(self) -> None:
        ensure_sample_library()
        for folder in LibraryFolder.objects.all():
            try:
                self._tell(folder.path, scan_folder(folder, self._progress))
            except FolderUnreadable as error:
                self.stderr.write(self.style.WARNING(f"{error} Its documents are kept."))

    def _progress(self, n_done: int, n_files: int) -> None:
        if n_files > _PROGRESS_EVERY and (n_done % _PROGRESS_EVERY == 0 or n_done == n_files):
            self.stderr.write(f"  {n_done} of {n_files} files")

    def _tell(self, path: str, report: ScanReport) -> None:
        self.stdout.write(
            f"{path}: {report.added} new, {report.updated} changed, {report.unchanged} unchanged,"
            f" {report.removed} removed"
        )
        for name, reason in list(report.skipped.items())[:_SHOWN_SKIPPED]:
            self.stdout.write(f"  skipped: {name} {reason}")
        if len(report.skipped) > _SHOWN_SKIPPED:
            self.stdout.write(f"  and {len(report.skipped) - _SHOWN_SKIPPED} more skipped")


def _person(username: str) -> User:
    if not username:
        return the_owner()
    found = User.objects.filter(username=username).first()
    if found is None:
        raise CommandError(f"There is no user named {username!r}.")
    return found


def _folder(given: str) -> str:
    """The folder's full path. Errors in words."""
    path = Path(_resolved(given))
    try:
        if not path.exists():
            raise CommandError(f"{path} does not exist.")
    except OSError as error:
        raise CommandError(f"{path} may not be opened.") from error
    if not path.is_dir():
        raise CommandError(f"{path} is not a folder. Add the folder that it is in.")
    return str(path)


def _resolved(given: str) -> str:
    return str(Path(given).expanduser().resolve())


def _counted(n_documents: int) -> str:
    return f"{n_documents} document{'' if n_documents == 1 else 's'}"
