"""Model text for people: safe HTML, live fragments, the citations in it, and its plain language.

Needs no database and no request.
"""

from chat.rendering.index import Citable, label_of
from chat.rendering.markdown import answer_blocks, answer_html
from chat.rendering.reading import FoundCitation, Reading, Stray, read_citations
from chat.rendering.segments import closed_until, segments
from chat.rendering.stream import AnswerStream, Append, Block, Fragment, Snapshot
from chat.rendering.stripping import strip_markers

__all__ = [
    "AnswerStream",
    "Append",
    "Block",
    "Citable",
    "FoundCitation",
    "Fragment",
    "Reading",
    "Snapshot",
    "Stray",
    "answer_blocks",
    "answer_html",
    "closed_until",
    "label_of",
    "read_citations",
    "segments",
    "strip_markers",
]
