"""`python manage.py bench_memory`: the packer against doing nothing, in one run."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.bench.report import as_json, as_markdown, write_charts
from memory.bench.run import REPORTED_SEED, Results, Wanted, run
from memory.bench.stored import database_of_its_own
from memory.bench.through import ThroughDatabase
from memory.engine import default_embedder
from memory.engine.errors import EmbedderFailed
from memory.engine.ports import Embedder


class Command(BaseCommand):
    help = "Compare the memory's packer with baselines at equal budgets."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--locomo", type=Path, metavar="FILE", help="the LoCoMo file")
        parser.add_argument("--json", action="store_true", help="print JSON, not tables")
        parser.add_argument("--charts", type=Path, metavar="FOLDER", help="write SVG charts there")
        parser.add_argument("--seed", type=int, default=REPORTED_SEED)
        parser.add_argument("--sessions", type=int, default=25, metavar="N")
        parser.add_argument("--without-embedder", action="store_true")
        parser.add_argument("--without-ablations", action="store_true")
        parser.add_argument("--without-cost", action="store_true")
        parser.add_argument(
            "--through-service", action="store_true", help="ask through a database of its own"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        locomo: Path | None = options["locomo"]
        if locomo and not locomo.is_file():
            raise CommandError(f"There is no file {locomo}.")
        charts: Path | None = options["charts"]
        if charts:
            self._make(charts)
        with database_of_its_own() if options["through_service"] else nullcontext():
            results = self._run(options, locomo)
        self.stdout.write(as_json(results) if options["json"] else as_markdown(results))
        if charts:
            write_charts(results, charts)

    def _make(self, folder: Path) -> None:
        """Before anything is measured: that takes minutes."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f"There can be no folder {folder}: {error.strerror}.") from error

    def _run(self, options: dict[str, Any], locomo: Path | None) -> Results:
        wanted = Wanted(
            seed=options["seed"],
            n_sessions=options["sessions"],
            locomo=locomo,
            embedder=None if options["without_embedder"] else self._embedder(),
            ablations=not options["without_ablations"],
            cost=not options["without_cost"],
            stored=ThroughDatabase() if options["through_service"] else None,
        )
        return run(wanted, lambda line: self.stderr.write(line))

    def _embedder(self) -> Embedder | None:
        try:
            found = default_embedder()
        except EmbedderFailed as error:
            raise CommandError(str(error)) from error
        if found is None:
            self.stderr.write("No encoder is installed (requirements-semantic.txt): words alone.")
        return found
