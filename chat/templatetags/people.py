"""What the pages about people say of browsers and amounts."""

from __future__ import annotations

import re

from django import template
from django.template.defaultfilters import filesizeformat

from chat.accounts.usage import Share

register = template.Library()

# In this order: most browsers also name those that they descend from.
_BROWSERS = (
    ("Firefox", r"Firefox/"),
    ("Edge", r"Edg/"),
    ("Opera", r"OPR/"),
    ("Chrome", r"Chrom(e|ium)/"),
    ("Safari", r"Safari/"),
)
_SYSTEMS = (
    ("Android", r"Android"),
    ("iPhone", r"iPhone"),
    ("iPad", r"iPad"),
    ("Windows", r"Windows"),
    ("macOS", r"Mac OS X|Macintosh"),
    ("Linux", r"Linux|X11"),
)


@register.filter
def device(agent: str) -> str:
    """A browser's own description as a person would say it: "Firefox on Linux"."""
    browser = next((name for name, sign in _BROWSERS if re.search(sign, agent)), "")
    system = next((name for name, sign in _SYSTEMS if re.search(sign, agent)), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or agent.partition("/")[0][:40] or "Unknown browser"


@register.filter
def amount(share: Share) -> str:
    return _said(share.used, share.is_bytes)


@register.filter
def limit(share: Share) -> str:
    return _said(share.limit, share.is_bytes)


def _said(n: int, is_bytes: bool) -> str:
    return str(filesizeformat(n)) if is_bytes else f"{n:,}"
