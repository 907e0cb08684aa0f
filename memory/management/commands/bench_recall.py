"""`python manage.py bench_recall`: what a recall from the database costs as the history grows."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from memory.bench.recall_cost import SIZES, as_table, measure_recall
from memory.bench.stored import database_of_its_own


class Command(BaseCommand):
    help = "Measure recall from the database, in a database of its own beside the configured one."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
        parser.add_argument("--json", action="store_true", help="print JSON, not a table")

    def handle(self, *args: Any, **options: Any) -> None:
        with database_of_its_own():
            rows = list(measure_recall(options["sizes"], lambda line: self.stderr.write(line)))
        if options["json"]:
            self.stdout.write(json.dumps([asdict(row) for row in rows]))
            return
        self.stdout.write(as_table(rows))
        self.stdout.write(f"\nLoad average: {os.getloadavg()[0]:.1f}")
