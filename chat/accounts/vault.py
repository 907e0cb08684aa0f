"""Texts encrypted at rest, under a key that is not in the database.

The key is derived from LUMINA_ENCRYPTION_KEY, or from Django's secret key. Of several the first
encrypts and all decrypt, so that a key can be changed: put the new one in front, run `rotate_keys`,
take the old one away.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class Unreadable(Exception):
    """The text was encrypted under a key that is not here."""


class Vault:
    def __init__(self, keys: Sequence[str]) -> None:
        self._fernet = MultiFernet([Fernet(_derived(key)) for key in keys])

    def close(self, text: str) -> str:
        return self._fernet.encrypt(text.encode()).decode()

    def open(self, closed: str) -> str:
        """Raises Unreadable."""
        try:
            return self._fernet.decrypt(closed.encode()).decode()
        except InvalidToken as error:
            raise Unreadable from error

    def renew(self, closed: str) -> str:
        """The same text under the first key. Raises Unreadable."""
        try:
            return self._fernet.rotate(closed.encode()).decode()
        except InvalidToken as error:
            raise Unreadable from error


def _derived(key: str) -> bytes:
    # No salt: the keys are long and random, and every process must find the same.
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"lumina stored settings")
    return base64.urlsafe_b64encode(kdf.derive(key.encode()))
