"""Small things that templates say: letter tiles, short times, and the icons."""

from __future__ import annotations

import re
import zlib
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from chat.agent.sources import LIBRARY_DOMAIN
from chat.rendering import answer_html

register = template.Library()

N_TILE_COLOURS = 8
_HEADING = re.compile(r"#{1,6} (?=.*\Z)")


@register.filter
def tile_letter(source: Any) -> str:
    """The letter on a source's tile: the first letter or digit of its domain."""
    name = _tile_name(source)
    return next((char.upper() for char in name if char.isalnum()), "•")


@register.filter
def tile_colour(source: Any) -> int:
    """A colour number, the same for the same domain on every page."""
    return zlib.crc32(_tile_name(source).encode()) % N_TILE_COLOURS


def _tile_name(source: Any) -> str:
    """Documents of the library are told apart by their titles: all have the same domain."""
    is_library = source.domain == LIBRARY_DOMAIN
    return str(source.title if is_library else source.domain).removeprefix("www.")


@register.filter
def document_blocks(text: str) -> list[tuple[bool, str]]:
    """The blocks of a library document, split at blank lines, and whether each is a heading."""
    blocks = [block for block in re.split(r"\n\s*\n", str(text)) if block.strip()]
    headings = [_HEADING.match(block) for block in blocks]
    return [
        (heading is not None, block[heading.end() :] if heading else block)
        for heading, block in zip(headings, blocks, strict=True)
    ]


@register.inclusion_tag("chat/_icon.html")
def icon(name: str) -> dict[str, Any]:
    return {"name": name}


@register.filter
def as_markdown(text: str) -> SafeString:
    """A person's Markdown as HTML, through the same sanitizer as an answer without sources."""
    return mark_safe(answer_html(str(text), (), prefix="note-"))
