"""Settings: documented without a gap, and loud when they are wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from lumina import settings
from lumina.environment import Environment

DOCUMENT = Path(settings.BASE_DIR, "docs/CONFIGURATION.md").read_text()


def test_every_setting_is_documented() -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", DOCUMENT, re.MULTILINE))
    assert documented == set(settings.env.names_read)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LUMINA_WEB", "perhaps"),
        ("LUMINA_MAX_STEPS", "0"),
        ("LUMINA_MAX_STEPS", "many"),
        ("LUMINA_MAX_SECONDS", "-1"),
        ("LUMINA_MAX_SECONDS", "nan"),
        ("LUMINA_MODEL_URL", "localhost:11434"),
        ("LUMINA_SEARCH_PROVIDERS", "altavista"),
        ("LUMINA_TIME_ZONE", "Mars/Olympus"),
        ("DATABASE_URL", "mysql://x"),
    ],
)
def test_a_wrong_value_stops_the_start_and_is_named(name: str, value: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=settings.BASE_DIR,
        env={"PATH": "/usr/bin:/bin", "LUMINA_VAR": str(tmp_path), name: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert name in ended.stderr
    assert "docs/CONFIGURATION.md" in ended.stderr


def test_all_wrong_values_are_named_at_once() -> None:
    env = Environment({"A": "x", "B": "maybe", "C": "ftp://x"})
    env.count("A", 1, at_least=1)
    env.flag("B", True)
    env.url("C", "")
    with pytest.raises(ImproperlyConfigured) as raised:
        env.finish()
    assert all(f"{name}: " in str(raised.value) for name in "ABC")


def test_a_password_in_a_wrong_address_is_not_printed() -> None:
    env = Environment({"DATABASE_URL": "mysql://me:secret@host/x"})
    env.database("DATABASE_URL", Path("x"))
    with pytest.raises(ImproperlyConfigured) as raised:
        env.finish()
    assert "secret" not in str(raised.value)
