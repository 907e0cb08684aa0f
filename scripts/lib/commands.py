"""Run several management commands in one process: each start of Django costs a second or two.

python -m scripts.lib.commands COMMAND…, each one argument, such as "migrate -v 0".
"""

import os
import shlex
import sys

from django.core.management import execute_from_command_line


def main(commands: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lumina.settings")
    for command in commands:
        execute_from_command_line(["manage.py", *shlex.split(command)])


if __name__ == "__main__":
    main(sys.argv[1:])
