"""What can go wrong in the engine.

EngineError
└── EmbedderFailed    the encoder gave no vectors; words still work, and the receipt says so
"""

from __future__ import annotations


class EngineError(Exception):
    """The message is a plain sentence that can be shown as it is."""


class EmbedderFailed(EngineError):
    pass
