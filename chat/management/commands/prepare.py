"""Makes a fresh installation ready: its owner and the sample library."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from chat.accounts.links import the_owner
from chat.library import ensure_sample_library


class Command(BaseCommand):
    help = "Make the owner's account and take up the sample library. Quick when nothing changed."

    def handle(self, *args: Any, **options: Any) -> None:
        the_owner()
        ensure_sample_library()
