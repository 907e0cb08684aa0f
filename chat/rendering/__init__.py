"""Model text for people: safe HTML, and live fragments.

Needs no database and no request.
"""

from chat.rendering.index import Citable, label_of
from chat.rendering.markdown import answer_html
from chat.rendering.segments import closed_until, segments
from chat.rendering.stream import AnswerStream, Append, Block, Fragment, Snapshot

__all__ = [
    "AnswerStream",
    "Append",
    "Block",
    "Citable",
    "Fragment",
    "Snapshot",
    "answer_html",
    "closed_until",
    "label_of",
    "segments",
]
