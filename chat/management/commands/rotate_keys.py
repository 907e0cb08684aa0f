"""Stored settings under a new key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.accounts import stored


class Command(BaseCommand):
    help = "Encrypt the stored settings anew under the first key of LUMINA_ENCRYPTION_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        n_done, lost = stored.rotate()
        self.stdout.write(f"{n_done} settings are under the first key now.")
        if lost:
            raise CommandError(
                f"No key here opens {', '.join(lost)}. Add the old key, or enter them again."
            )
