"""Numbers and first lines as the page of a turn says them."""

from __future__ import annotations

from django import template

register = template.Library()

FIRST_LINE_CHARS = 160


@register.filter
def thousands(number: int) -> str:
    return f"{number:,}"


@register.filter
def plain(number: float) -> str:
    """A number for an attribute: never with a comma, whatever the language."""
    return f"{number:.3f}".rstrip("0").rstrip(".")


@register.filter
def first_line(text: str) -> str:
    line = next((line.strip() for line in str(text).split("\n") if line.strip()), "")
    return line if len(line) <= FIRST_LINE_CHARS else f"{line[:FIRST_LINE_CHARS].rstrip()}…"
