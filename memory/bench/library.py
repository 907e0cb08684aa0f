"""Real code for the generated sessions: modules of Python's own library, and what they hold."""

from __future__ import annotations

import ast
import re
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MODULES = (
    "argparse", "ast", "asyncore", "base64", "bdb", "bisect", "bz2", "calendar", "cgi", "chunk",
    "cmd", "code", "codecs", "codeop", "colorsys", "configparser", "contextlib", "copy", "csv",
    "datetime", "difflib", "dis", "doctest", "fileinput", "filecmp", "fnmatch", "fractions",
    "ftplib", "functools", "getopt", "getpass", "gettext", "glob", "graphlib", "gzip", "hashlib",
    "heapq", "hmac", "imaplib", "imghdr", "inspect", "ipaddress", "linecache", "locale", "lzma",
    "mailbox", "mimetypes", "modulefinder", "netrc", "nntplib", "numbers", "optparse", "os",
    "pathlib", "pdb", "pickle", "pickletools", "pkgutil", "platform", "plistlib", "poplib",
    "pprint", "profile", "pstats", "pty", "pyclbr", "queue", "quopri", "random", "reprlib",
    "rlcompleter", "runpy", "sched", "secrets", "selectors", "shelve", "shlex", "shutil",
    "smtplib", "socket", "socketserver", "ssl", "statistics", "string", "subprocess", "symtable",
    "tabnanny", "tarfile", "telnetlib", "tempfile", "textwrap", "threading", "timeit",
    "tokenize", "trace", "traceback", "tracemalloc", "types", "typing", "uuid", "warnings",
    "weakref", "webbrowser", "xdrlib", "zipapp", "zipfile", "zipimport",
)  # fmt: skip
SHORTEST, LONGEST = 150, 3500

_CONSTANT = re.compile(
    r"^(_?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|_?[A-Z]{5,}) *= *(?P<value>[^#\n]{1,60})"
)


@dataclass(frozen=True, slots=True)
class Found:
    """Something in a file worth asking for: its name and its lines (numbers from 0, end open)."""

    kind: str
    name: str
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: str
    lines: tuple[str, ...]
    finds: tuple[Found, ...]


@cache
def source_files() -> tuple[SourceFile, ...]:
    """The modules present in this Python, in a fixed order."""
    root = Path(sysconfig.get_path("stdlib"))
    files = []
    for name in MODULES:
        path = root / f"{name}.py"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            if SHORTEST <= text.count("\n") <= LONGEST:
                files.append(SourceFile(f"lib/{name}.py", tuple(text.splitlines()), _finds(text)))
    return tuple(files)


def _finds(text: str) -> tuple[Found, ...]:
    lines = text.splitlines()
    finds = []
    for at, line in enumerate(lines):
        match = _CONSTANT.match(line)
        if match and match["value"].strip()[-1:] not in "([{\\,":
            finds.append(Found("constant", match[1], at, at + 1, match["value"].strip()))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            finds += _in_function(node, lines)
    return tuple(sorted(finds, key=lambda find: (find.start, find.kind)))


def _in_function(node: ast.FunctionDef, lines: list[str]) -> list[Found]:
    start, end = node.lineno - 1, node.end_lineno or node.lineno
    body = [part for part in node.body if not _is_docstring(part)]
    if not body:
        return []
    finds = []
    one_row = lines[start].rstrip().endswith(":")
    if one_row and node.args.defaults and len(lines[start].strip()) < 90:
        finds.append(Found("signature", node.name, start, start + 1))
    if one_row and 3 <= end - start <= 8 and len(body) == len(node.body):
        finds.append(Found("block", node.name, start, end))
    last = body[-1]
    row = last.lineno - 1
    single = last.lineno == last.end_lineno and 5 <= end - start <= 25
    returned = last.value if isinstance(last, ast.Return) else None
    if single and returned and not isinstance(returned, ast.Name | ast.Constant):
        finds.append(Found("body", node.name, row, row + 1))
    finds += _raises(node, lines)
    return finds


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _raises(node: ast.FunctionDef, lines: list[str]) -> list[Found]:
    finds = []
    for part in ast.walk(node):
        if isinstance(part, ast.Raise) and part.lineno == part.end_lineno:
            row = lines[part.lineno - 1]
            told = re.search(r"""["']([^"'%{}]{14,70})["']""", row)
            if told:
                finds.append(Found("error", node.name, part.lineno - 1, part.lineno, told[1]))
    return finds
