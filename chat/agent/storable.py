"""Text that came from outside, made fit to be stored and sent."""

from __future__ import annotations

import re

# No database stores NUL, and half of a surrogate pair cannot be encoded.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    return _UNSTORABLE.sub("", text)
