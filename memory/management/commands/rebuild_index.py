"""`python manage.py rebuild_index`: the index of the history, built anew or checked."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory import service

_WIDTH = 30


class Command(BaseCommand):
    help = "Build the index of the history anew, or check it against the messages."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--conversation", type=int, metavar="ID", help="this one alone")
        parser.add_argument("--check", action="store_true", help="change nothing, say what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        known = service.conversations()
        wanted = [options["conversation"]] if options["conversation"] else known
        if not set(wanted) <= set(known):
            raise CommandError(f"There is no conversation {options['conversation']}.")
        n_wrong = 0
        for number, conversation_id in enumerate(wanted, start=1):
            if options["check"]:
                found = service.check(conversation_id)
                n_wrong += bool(found)
                for sentence in found:
                    self.stdout.write(
                        self.style.ERROR(f"Conversation {conversation_id}: {sentence}")
                    )
            else:
                service.rebuild(conversation_id)
            self._show(number, len(wanted))
        self._end(len(wanted), n_wrong, checked=options["check"])

    def _show(self, done: int, total: int) -> None:
        """A bar on a terminal, nothing in a log."""
        if not self.stderr.isatty():
            return
        full = _WIDTH * done // total
        ending = "\n" if done == total else ""
        bar = f"[{'#' * full}{' ' * (_WIDTH - full)}] {done}/{total}"
        self.stderr.write(f"\r{bar}", ending=ending)

    def _end(self, total: int, n_wrong: int, *, checked: bool) -> None:
        things = f"{total} conversation{'' if total == 1 else 's'}"
        if n_wrong:
            raise CommandError(
                f"{n_wrong} of {things} differ. `manage.py rebuild_index` builds them anew."
            )
        self.stdout.write(f"{things} {'as their messages say' if checked else 'indexed anew'}.")
