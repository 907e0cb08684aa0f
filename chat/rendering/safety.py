"""The last gate: whatever the renderer wrote, only this list reaches a page.

Answers hold no address but those of their own page: a link that is not a fragment loses its
`href`, and there is no element here that loads anything. What the list does not do: judge what
the text says.
"""

from __future__ import annotations

import nh3

from chat.rendering import code

_BLOCKS = "p br hr h3 h4 h5 h6 ul ol li blockquote pre code div table thead tbody tr th td"
_INLINES = "a em strong s span input"
_MATHS = (
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle mpadded mphantom menclose merror "
    "msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd"
)
_MATHS_ATTRIBUTES = {
    "math": {"display", "alttext"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mo": {"stretchy", "fence", "form", "largeop", "movablelimits", "minsize", "maxsize", "accent"}
    | {"lspace", "rspace", "separator", "mathvariant", "symmetric"},
    "mspace": {"width", "height", "depth", "linebreak"},
    "mpadded": {"width", "height", "depth", "voffset", "lspace"},
    "mtable": {"columnalign", "columnspacing", "rowspacing", "columnlines", "rowlines"}
    | {"displaystyle"},
    "mtd": {"columnalign"},
    "mfrac": {"linethickness", "bevelled"},
    "menclose": {"notation"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
    "mi": {"mathvariant"},
    "mn": {"mathvariant"},
    "mtext": {"mathvariant"},
}
_ALIGNMENTS = {"align-left", "align-center", "align-right"}

_CLEANER = nh3.Cleaner(
    tags=set(f"{_BLOCKS} {_INLINES} {_MATHS}".split()),
    attributes={
        "a": {"href", "data-source", "aria-label"},
        "div": {"data-language"},
        "ol": {"start"},
        "input": {"checked", "disabled"},
        **_MATHS_ATTRIBUTES,
    },
    allowed_classes={
        "a": {"citation"},
        "span": {"citation-number", "citation-domain", "unsupported", "unseen", *code.CLASSES},
        "div": {"code", "maths", "table"},
        "code": {"maths"},
        "ul": {"contains-task-list"},
        "ol": {"contains-task-list"},
        "li": {"task-list-item"},
        "input": {"task-list-item-checkbox"},
        "th": _ALIGNMENTS,
        "td": _ALIGNMENTS,
    },
    tag_attribute_values={"input": {"type": {"checkbox"}}},
    url_schemes=set(),
    url_relative=lambda url: url if url.startswith("#") else None,
    link_rel=None,
)


def clean(html: str) -> str:
    return _CLEANER.clean(html)
