"""What every script checks first. It must stay readable for any Python from 3.6 on."""

import os
import sys

OLDEST = (3, 11)


def require_python() -> None:
    """End with one clear sentence where the scripts cannot work."""
    if os.name != "posix":
        sys.exit("Lumina's scripts run on Linux and macOS. On Windows, use WSL.")
    if sys.version_info < OLDEST:
        wanted = ".".join(str(part) for part in OLDEST)
        found = ".".join(str(part) for part in sys.version_info[:3])
        sys.exit(
            f"Lumina needs Python {wanted} or newer, and {sys.executable} is {found}. "
            f"Install a newer one and start this script with it, as in: python3.12 {sys.argv[0]}"
        )
