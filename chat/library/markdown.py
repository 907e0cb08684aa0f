"""Markdown as words: the front matter's values, and the text without its marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise

import nh3
import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token

_FRONT_MATTER = regex.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", regex.S | regex.M)
_PARSER = MarkdownIt("commonmark").enable("table")


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The values between two lines of ---, and the rest of the text.

    Only `key: value` on one line is understood, a list in brackets as its items with commas;
    anything deeper is passed over.
    """
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    values = {}
    for line in match.group(1).splitlines():
        key, colon, value = line.partition(":")
        if colon and key == key.strip():
            values[key.lower()] = _bare(value)
    return values, text[match.end() :]


def _bare(value: str) -> str:
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return ",".join(_bare(item) for item in value[1:-1].split(","))
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def parsed(text: str) -> list[Token]:
    return _PARSER.parse(text)


def first_heading(tokens: Sequence[Token]) -> str:
    """The words of the first heading of the first level, or nothing."""
    for token, inside in pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h1":
            return _words(inside)
    return ""


def plain_text(tokens: Sequence[Token]) -> str:
    """Blocks between blank lines: headings with their #, list items with a dash or number, rows of
    tables in one line, code indented; no other marks, and links as their words."""
    return "\n\n".join(block for block in _blocks(tokens) if block.strip())


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    before = ""
    row: list[str] | None = None
    for token in tokens:
        if token.type == "heading_open":
            before = "#" * int(token.tag[1]) + " "
        elif token.type == "list_item_open":
            before = f"{token.info}. " if token.info else "- "
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield " | ".join(row)
            row = None
        elif token.type == "inline" and row is not None:
            row.append(_words(token))
        elif token.type == "inline":
            yield before + _words(token)
            before = ""
        elif token.type in {"fence", "code_block"}:
            yield "\n".join(f"    {line}" for line in token.content.splitlines() if line.strip())
        elif token.type == "html_block":
            yield unescape(nh3.clean(token.content, tags=set())).strip()


def _words(token: Token) -> str:
    return "".join(_word(child) for child in token.children or ()).strip()


def _word(token: Token) -> str:
    if token.type == "softbreak":
        return " "
    if token.type == "hardbreak":
        return "\n"
    return token.content if token.type in {"text", "code_inline", "image"} else ""
