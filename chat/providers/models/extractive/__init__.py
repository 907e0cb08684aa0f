"""The answerer that needs no model: ranked, cited quotations. The same input, the same output."""

from chat.providers.models.extractive.answerer import ExtractiveAnswerer

__all__ = ["ExtractiveAnswerer"]
