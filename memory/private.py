"""What never goes into memory: passwords, keys, and other people's numbers and addresses.

Keys are found by detect-secrets, numbers by phonenumbers; "my password is …", e-mail and postal
addresses by small rules of our own. A line that holds such a thing is left out as a whole, and
what it was is told, never the thing itself.

Not covered: names and stories of other people, numbers of cards and accounts, and secrets that
look like ordinary words and stand alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from memory.phrases import pattern

PASSWORD, KEY = "a password", "a key or token"
PHONE, EMAIL, ADDRESS = "a phone number", "an e-mail address", "a postal address"

# Plugins whose findings are no secrets of a person, or that only guess.
_LEFT_ASIDE = {"IPPublicDetector", "KeywordDetector", "Base64HighEntropyString"}
_LEFT_ASIDE |= {"HexHighEntropyString"}
_BASE64_BITS, _HEX_BITS = 4.0, 3.0
_MIN_KEY_CHARS = 20
_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# Where numbers without a country's prefix are looked for.
_REGIONS = (None, "US", "GB", "ES", "DE", "FR", "PL", "RU", "JP", "MX", "IN", "BR")
# As it is written in North America; also the numbers that are nobody's, such as 555-0187.
_NORTH_AMERICAN = re.compile(r"(?<![\d.])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\d)")
_DATE = re.compile(r"\b\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b")


@dataclass(frozen=True, slots=True)
class Screened:
    """`text` is what may be kept, `left_out` names what was not, each kind once."""

    text: str
    left_out: tuple[str, ...] = ()


def screen(text: str, *, said: str = "") -> Screened:
    """The lines that may be kept. `said` is the person's message: "my number is …" makes a number
    their own."""
    whole = tuple(_blocks(text))
    if whole:
        return Screened("", whole)
    finders: tuple[Callable[[str], str], ...] = (_secret, lambda line: _others(line, said))
    return _without(text, finders)


def screen_secrets(text: str) -> Screened:
    """The same for what a person writes by hand into their own files: only secrets are kept out."""
    whole = tuple(_blocks(text))
    return Screened("", whole) if whole else _without(text, (_secret,))


def _without(text: str, finders: tuple[Callable[[str], str], ...]) -> Screened:
    kept: list[str] = []
    kinds: dict[str, None] = {}
    for line in text.split("\n"):
        found = next((kind for find in finders if (kind := find(line))), "")
        if found:
            kinds[found] = None
        else:
            kept.append(line)
    return Screened("\n".join(kept), tuple(kinds))


def _blocks(text: str) -> Iterator[str]:
    """Keys that go over several lines spoil the whole text."""
    if "-----BEGIN" in text and "PRIVATE KEY" in text:
        yield KEY


# --- Passwords and keys -------------------------------------------------------------------------


def _secret(line: str) -> str:
    if _password_rule().search(line) or _keyword_finds(line):
        return PASSWORD
    if any(True for one in _detectors() for _ in one.analyze_string(line)):
        return KEY
    return KEY if any(_is_random(token) for token in _TOKEN.findall(line)) else ""


@cache
def _password_rule() -> re.Pattern[str]:
    """ "My password is hunter2": the bare word, or one with a longer sentence after it, is none."""
    word, code = pattern("secret", "word").pattern, pattern("secret", "code").pattern
    verb = pattern("secret", "verb").pattern
    mark = r"[\"'“”«»`*]*"
    then = rf"{mark}(?:\s+(?:{verb})\s+|\s*[:=：]\s*|は\s*){mark}"
    ends = rf"{mark}(?:です|だ)?(?=$|[.,;!?。]|\s+(?:and|y|und|et|и|[(]))"
    return re.compile(
        rf"(?<!\w)(?:{word}){then}[^\s.,;!?。]\S{{2,}}?{ends}"
        rf"|(?<!\w)(?:{word}|{code}){then}(?=\S*\d)[^\s.,;!?。]\S{{3,}}",
        re.IGNORECASE,
    )


@cache
def _detectors() -> tuple[Any, ...]:
    """Detect-secrets' own plugins. `analyze_string` alone is used: it asks no server whether a
    key is valid. Loaded on first use, as the library brings an HTTP client along."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    plugins: Iterable[Any] = get_mapping_from_secret_type_to_class().values()
    return tuple(one() for one in plugins if one.__name__ not in _LEFT_ASIDE)


def _keyword_finds(line: str) -> bool:
    """`api_key = "…"` as it stands in code and settings."""
    from detect_secrets.plugins.keyword import KeywordDetector

    return any(True for _ in KeywordDetector().analyze_string(line))


def _is_random(token: str) -> bool:
    """Whether a long run of letters and digits looks drawn by lot. Words and ids are not."""
    from detect_secrets.plugins.high_entropy_strings import (
        Base64HighEntropyString,
        HexHighEntropyString,
    )

    has_both = any(char.isdigit() for char in token) and any(char.isalpha() for char in token)
    if len(token) < _MIN_KEY_CHARS or not has_both or _UUID.fullmatch(token):
        return False
    if _HEX.fullmatch(token):
        return len(token) >= 32 and HexHighEntropyString().calculate_shannon_entropy(token) > (
            _HEX_BITS
        )
    if "/" in token or token.count("-") + token.count("_") > 2:
        return False
    return Base64HighEntropyString().calculate_shannon_entropy(token) > _BASE64_BITS


# --- Other people -------------------------------------------------------------------------------


def _others(line: str, said: str) -> str:
    if not pattern("own", "phone").search(said) and has_phone_number(line):
        return PHONE
    owns_address = pattern("own", "address").search(said)
    if not owns_address and _MAIL.search(line):
        return EMAIL
    return ADDRESS if not owns_address and pattern("street", "pattern").search(line) else ""


def has_phone_number(line: str) -> bool:
    import phonenumbers

    text = _DATE.sub(" ", line)
    if sum(char.isdigit() for char in text) < 7:
        return False
    return _NORTH_AMERICAN.search(text) is not None or any(
        True
        for region in _REGIONS
        for found in phonenumbers.PhoneNumberMatcher(text, region)
        if region is None or len(found.raw_string) >= 9
    )
