"""Takes in a conversation from a JSON file, as the owner's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.accounts.links import the_owner
from chat.importing import ImportRefused, import_conversation


class Command(BaseCommand):
    help = "Import a conversation: a JSON list of messages with `role` and `content`."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            told = json.loads(options["file"].read_text(encoding="utf-8"))
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise CommandError(f"{options['file']} is not JSON: {error}.") from error
        try:
            conversation = import_conversation(the_owner(), told)
        except ImportRefused as refused:
            raise CommandError(f"{options['file']}: {refused}") from refused
        n_messages = conversation.messages.count()
        self.stdout.write(f"Conversation {conversation.pk}: {n_messages} messages imported.")
