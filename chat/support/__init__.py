"""Whether an answer's sentences are supported by the passages that they cite.

What is looked at are words, names, numbers and dates: a sentence that turns what a source says
into its opposite with the source's own words is not noticed here.
"""

from chat.support.reader import RenderedCitations
from chat.support.words import WordChecker

__all__ = ["RenderedCitations", "WordChecker"]
