"""Choosing what a model sees of a long history: pure, deterministic, no model needed."""

from memory.engine.history import History
from memory.engine.values import Message, Packed, PackedLine, PackedMessage, Receipt

__all__ = ["History", "Message", "Packed", "PackedLine", "PackedMessage", "Receipt"]
