"""Asks a question from the terminal, as the owner, and streams the answer."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat import store
from chat.accounts.links import the_owner
from chat.answers import answer_json
from chat.database import in_database
from chat.forms import AskForm
from chat.hub import hub
from chat.models import Run
from chat.runs import manager
from chat.services import close_services
from chat.steps import Steps


class Command(BaseCommand):
    help = "Ask a question. The answer streams; its numbered sources follow."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--conversation", type=int, help="go on in this conversation")
        parser.add_argument("--json", action="store_true", help="print one JSON object at the end")

    def handle(self, *args: Any, **options: Any) -> None:
        form = AskForm(
            {
                "text": options["question"],
                "conversation": options["conversation"],
                "client_id": secrets.token_urlsafe(12),
            }
        )
        if not form.is_valid():
            raise CommandError(form.first_error())
        try:
            run, _ = store.begin_run(the_owner(), form.ask())
        except store.Refused as refused:
            raise CommandError(str(refused)) from refused
        asyncio.run(self._follow(run, quiet=options["json"]))
        told = answer_json(Run.objects.get(pk=run.pk))
        if options["json"]:
            self.stdout.write(json.dumps(told, ensure_ascii=False, indent=2))
        else:
            self._print_sources(told)
        if told["status"] == "failed":
            raise CommandError(told["reason"])

    async def _follow(self, run: Run, *, quiet: bool) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, manager.stop, run.pk)
        printer = _Printer(self, quiet=quiet)
        async with hub.subscribed(run.conversation_id) as subscription:
            task = manager.start(run.pk)
            while not task.done():
                printer.hear(await subscription.next(0.5))
            printer.hear(await in_database(store.read_events)(run.pk, printer.seq))
        await task
        await close_services()

    def _print_sources(self, told: dict[str, Any]) -> None:
        if told["status"] != "complete":
            self.stdout.write(f"\n[{told['status']}] {told['reason']}")
        if told["sources"]:
            self.stdout.write("\nSources")
        for source in told["sources"]:
            self.stdout.write(f"  [{source['number']}] {source['title']}  {source['url']}")
        self.stdout.write(f"\nGo on with: --conversation {told['conversation']}")


class _Printer:
    """Prints the events of one run as they come: steps on stderr, text on stdout."""

    def __init__(self, command: BaseCommand, *, quiet: bool) -> None:
        self._command = command
        self._quiet = quiet
        self._steps = Steps()
        self.seq = 0

    def hear(self, events: list[Any]) -> None:
        for event in events:
            if event["seq"] != self.seq + 1:
                return
            self.seq = event["seq"]
            if not self._quiet:
                self._print(event)

    def _print(self, event: Any) -> None:
        step = self._steps.hear(event)
        if step:
            line = f"· {step.label}{step.what} {step.outcome} {step.error}"
            self._command.stderr.write(" ".join(line.split()))
            for name, why in step.passed_over:
                self._command.stderr.write(f"  {name} was passed over: {why}")
        if event["type"] == "text_added":
            self._command.stdout.write(event["text"], ending="")
            self._command.stdout.flush()
        elif event["type"] == "text_retracted":
            self._command.stdout.write("\n")
        elif event["type"] == "sentence_replaced":
            self._command.stdout.write(f"\n[corrected] {event['text']}")
        elif event["type"] == "sentence_unsupported":
            self._command.stdout.write(f"\n[not supported by its source] {event['problem']}")
        elif event["type"] == "run_finished":
            self._command.stdout.write("")
