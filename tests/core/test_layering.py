"""Dependencies point one way: adapters know the cores, the cores know nobody."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORES = ("chat.agent", "memory.engine")
HIDDEN = ("django", "channels", "celery", "httpx")
PROBE = """
import importlib, pkgutil, sys
for name in sys.argv[2].split(","):
    sys.modules[name] = None          # any import of these now fails
core = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(core.__path__, core.__name__ + "."):
    importlib.import_module(found.name)
print(*(name for name in sys.modules if sys.modules[name] is not None))
"""
# Who reads settings of the agent beside `chat.wiring`, and why it may.
READERS_OF_SETTINGS = {
    "chat/wiring.py": "builds what a run needs",
    "chat/services.py": "picks the models and search engines",
    "memory/embedding.py": "picks the encoder of the history",
    "chat/accounts/rules.py": "gives accounts their rates and quotas, which no agent sees",
    "chat/accounts/stored.py": "puts what an owner stored where the environment is silent",
    "chat/accounts/settings_views.py": "names what an owner can store",
    "chat/tracing.py": "looks whether an operator asked for traces",
    "chat/checks.py": "tells an operator what does not fit together, before anything starts",
}


def files_of(package: str) -> list[Path]:
    return sorted((ROOT / package.replace(".", "/")).rglob("*.py"))


def imports_of(path: Path) -> Iterator[str]:
    """The full names of all that a file imports, at its top or inside a function.

    `from memory import service` counts as `memory.service`.
    """
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def belongs(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def settings_read_in(path: Path) -> list[str]:
    """The agent's settings that a file names, as an attribute or as a string for getattr."""
    named = [
        node.attr if isinstance(node, ast.Attribute) else node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]
    return [name for name in named if name.startswith("LUMINA_") and name.isupper()]


@pytest.mark.parametrize("core", CORES)
def test_a_core_imports_where_no_framework_is_there(core):
    command = [sys.executable, "-c", PROBE, core, ",".join(HIDDEN)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    other = next(name for name in CORES if name != core)
    assert core in done.stdout.split()
    assert other not in done.stdout.split()


@pytest.mark.parametrize("core", CORES)
def test_a_core_knows_neither_its_adapters_nor_the_other_core(core):
    strangers = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files_of(core)
        for name in imports_of(path)
        if any(belongs(name, package) for package in ("chat", "memory", "lumina"))
        and not belongs(name, core)
    ]
    assert strangers == []


def test_memory_never_imports_chat():
    assert [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files_of("memory")
        for name in imports_of(path)
        if belongs(name, "chat")
    ] == []


def test_chat_reaches_memory_through_its_service_alone():
    assert [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files_of("chat")
        for name in imports_of(path)
        if belongs(name, "memory") and not belongs(name, "memory.service")
    ] == []


def test_settings_of_the_agent_are_read_in_the_wiring_alone():
    assert [
        f"{path.relative_to(ROOT)} reads {name}"
        for package in ("chat", "memory")
        for path in files_of(package)
        for name in settings_read_in(path)
        if str(path.relative_to(ROOT)) not in READERS_OF_SETTINGS
    ] == []
