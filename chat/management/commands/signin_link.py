"""Prints a link that signs a person in, once, within 15 minutes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from chat.accounts.links import new_link, the_owner
from chat.models import User


class Command(BaseCommand):
    help = "Print a sign-in link: it works once, for 15 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default="", help="whose; the owner by default")
        parser.add_argument(
            "--base", default="http://127.0.0.1:8000", help="the address that the page has"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = the_owner()
        if options["user"]:
            found = User.objects.filter(username=options["user"], is_active=True).first()
            if found is None:
                raise CommandError(f"There is no user named {options['user']!r}.")
            user = found
        path = reverse("sign-in-by-link", args=[new_link(user)])
        self.stdout.write(f"{options['base'].rstrip('/')}{path}")
