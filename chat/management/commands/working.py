"""Prints the working memory of a question: the five fields, as JSON."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.accounts.links import the_owner
from chat.models import Run
from chat.working import working_of


class Command(BaseCommand):
    help = "Print what is at hand for the newest question of a conversation, or for one run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("conversation", type=int, nargs="?", help="the newest one by default")
        parser.add_argument("--run", type=int, help="this run instead of the newest")

    def handle(self, *args: Any, **options: Any) -> None:
        runs = Run.objects.of(the_owner()).select_related("question", "answer")
        if options["conversation"]:
            runs = runs.filter(conversation=options["conversation"])
        if options["run"]:
            runs = runs.filter(pk=options["run"])
        run = runs.order_by("-pk").first()
        if run is None:
            raise CommandError("There is no such question.")
        self.stdout.write(json.dumps(working_of(run).fields(), ensure_ascii=False, indent=2))
