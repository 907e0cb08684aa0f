"""Code blocks: the code byte for byte, coloured by classes where its language is known."""

from __future__ import annotations

import re
from html import escape

from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

MAX_COLOURED_CHARS = 50_000
MAX_COLOURED_LINE_CHARS = 5_000
CLASSES = frozenset(name for name in STANDARD_TYPES.values() if name)
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}", re.ASCII)


def language_of(info: str) -> str:
    """The language that a fence's info string names, or nothing."""
    match = _LANGUAGE.match(info.strip())
    return match.group() if match else ""


def code_html(code: str, language: str = "") -> str:
    """A block that a page can add a copy button to."""
    attribute = f' data-language="{escape(language)}"' if language else ""
    body = _coloured(code, language) or escape(code, quote=False)
    return f'<div class="code"{attribute}><pre><code>{body}</code></pre></div>\n'


def _coloured(code: str, language: str) -> str:
    """Empty when the language is unknown, the code is huge, or a lexer would change it."""
    if not language or len(code) > MAX_COLOURED_CHARS:
        return ""
    if max(map(len, code.split("\n"))) > MAX_COLOURED_LINE_CHARS:
        return ""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return ""
    tokens = list(lexer.get_tokens(code))
    if "".join(value for _, value in tokens) != code:
        return ""
    return "".join(_span(_class_of(kind), value) for kind, value in tokens)


def _class_of(kind: _TokenType) -> str:
    while kind not in STANDARD_TYPES:
        kind = kind.parent
    name: str = STANDARD_TYPES[kind]
    return name


def _span(name: str, value: str) -> str:
    text = escape(value, quote=False)
    return f'<span class="{name}">{text}</span>' if name and value.strip() else text
