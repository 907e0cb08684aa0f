"""Whether all that Lumina rests on works, with the exact fix for what does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.selfcheck import check_everything
from chat.selfcheck.findings import Finding
from chat.services import close_services

MARKS = {"ok": "✓", "warning": "!", "failure": "✗"}


class Command(BaseCommand):
    help = "Check database, queue, worker, model, search engines and the rest; say what helps."
    requires_system_checks = []  # they are one of the checks, and stop none of the others

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON list")

    def handle(self, *args: Any, **options: Any) -> None:
        found = asyncio.run(_found())
        if options["json"]:
            self.stdout.write(json.dumps([one.as_dict() for one in found], ensure_ascii=False))
        else:
            self._print(found)
        failures = [finding.subject for finding in found if finding.level == "failure"]
        if failures:
            raise CommandError(f"Not working: {', '.join(failures)}.")

    def _print(self, found: Sequence[Finding]) -> None:
        width = max(len(finding.subject) for finding in found)
        styles = {"ok": self.style.SUCCESS, "warning": self.style.WARNING}
        for finding in found:
            mark = styles.get(finding.level, self.style.ERROR)(MARKS[finding.level])
            self.stdout.write(f"{mark} {finding.subject:{width}}  {finding.sentence}")
            if finding.fix:
                self.stdout.write(f"  {'':{width}}  → {finding.fix}")


async def _found() -> list[Finding]:
    try:
        return await check_everything()
    finally:
        await close_services()
