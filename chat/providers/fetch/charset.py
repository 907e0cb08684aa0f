"""Bytes to text when nobody can be trusted to say how they were encoded."""

from __future__ import annotations

from contextlib import suppress

from charset_normalizer import from_bytes
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
)

_DETECT_BYTES = 100_000


def decoded(body: bytes, content_type: str = "") -> str:
    """The text, by mark, header, declaration in the page, or detection, in this order.

    Two lies are seen through: text that is valid UTF-8 beyond ASCII is UTF-8 whatever is said of
    it, and a declaration that the bytes contradict is passed over. Characters that a database
    cannot store (NUL) are left out. Never raises.
    """
    return _text(body, content_type).replace("\x00", "")


def _text(body: bytes, content_type: str) -> str:
    marked, mark = read_bom(body)
    if marked and mark:
        return body[len(mark) :].decode(marked, "replace")
    declared = http_content_type_encoding(content_type) or html_body_declared_encoding(body)
    for encoding in _candidates(body, declared):
        with suppress(UnicodeDecodeError, LookupError):
            return body.decode(encoding)
    return body.decode("utf-8", "replace")


def _candidates(body: bytes, declared: str | None) -> list[str]:
    plain_ascii = body.isascii()
    found = [] if plain_ascii and declared else ["utf-8"]
    if declared and (encoding := resolve_encoding(declared)):
        found.append(encoding)
    if not plain_ascii:
        found += _detected(body[:_DETECT_BYTES])
    return found


def _detected(body: bytes) -> list[str]:
    """The likeliest encodings. Of equally likely ones, the most usual first."""
    matches = from_bytes(body)
    best = matches.best()
    if best is None:
        return []
    equals = [
        match.encoding
        for match in matches
        if (match.chaos, match.coherence) == (best.chaos, best.coherence)
    ]
    return sorted(equals, key=lambda encoding: encoding != "cp1252")
