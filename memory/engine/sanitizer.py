"""Text as it was stored, made fit for a model: storage markers, old lists and invisible marks go.

Small passes in a fixed order. Each takes a text and returns the text and what it removed, so
nothing disappears unreported. The passes run until nothing changes, because a removal can bring
the two halves of another marker together; `sanitize` is idempotent, and linear in the input.

Not covered: whether a text is true, safe or an instruction in disguise. Citation markers belong
to the chat's Markdown parser; `strip_citation_markers` is the engine's stand-alone form of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from memory.engine.markup import Spans, code_spans

Author = Literal["assistant", "user"]
Kind = Literal["marker", "source list", "thoughts", "control", "citation"]


@dataclass(frozen=True, slots=True)
class Removed:
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class StoredSource:
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Sanitized:
    """`sources` come from the last well-formed marker, else from a removed source list."""

    text: str
    removed: tuple[Removed, ...] = ()
    sources: tuple[StoredSource, ...] = ()


@dataclass(frozen=True, slots=True)
class _Cut:
    """A range to take out; `instead` keeps the two sides from growing into a new marker."""

    start: int
    end: int
    kind: Kind
    instead: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    cuts: list[_Cut]
    sources: tuple[StoredSource, ...] | None = None


# Tags nested deeper than this are taken out all at once, code or not: time stays linear.
_PATIENT_ROUNDS = 4


def sanitize(text: str, *, author: Author = "assistant") -> Sanitized:
    """Clean text, what was taken out of it in order of the passes, and the sources it carried.

    A person's own words keep their lists and tags: only an assistant's answers end with a source
    list of ours, and only a model's thoughts stand between think tags.
    """
    passes = _PASSES if author == "assistant" else (_invisible, _markers)
    removed: list[Removed] = []
    listed: tuple[StoredSource, ...] | None = None
    marked: tuple[StoredSource, ...] | None = None
    before = None
    for round_number in count():
        if text == before:
            break
        before = text
        for find in passes:
            step = find(text)
            text = _apply(text, step.cuts, removed)
            if find is _markers:
                marked = marked or step.sources
            else:
                listed = listed or step.sources
        if round_number >= _PATIENT_ROUNDS:
            text = _apply(text, _every_tag(text, author), removed)
    return Sanitized(text, tuple(removed), marked or listed or ())


def _apply(text: str, cuts: list[_Cut], removed: list[Removed]) -> str:
    if not cuts:
        return text
    kept: list[str] = []
    position = 0
    for cut in cuts:
        kept.append(text[position : cut.start])
        kept.append(cut.instead)
        removed.append(Removed(cut.kind, text[cut.start : cut.end]))
        position = cut.end
    kept.append(text[position:])
    return "".join(kept)


# --- Characters that nobody sees -----------------------------------------------------------------

# Scripts whose letters change shape or meaning at a joiner: Hebrew to Myanmar, Khmer, Mongolian,
# the later Indic and Arabic blocks.
_JOINING = "\u0590-\u109f\u1700-\u18af\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff"
_PICTURE = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff\ufe0f"
_IDEOGRAPH = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_SUSPECT = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_ANY_SUSPECT = re.compile(f"\r|{_SUSPECT}")
_INVISIBLE = re.compile(
    "(?P<line>(?:\r\n?)++)"
    f"|(?<=[{_JOINING}])(?P<joiner>[\u200c\u200d])"
    f"|(?<=[{_PICTURE}])(?P<glue>\u200d)(?=[{_PICTURE}])"
    "|(?<=\U0001f3f4)(?P<flag>[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,7}\U000e007f)"
    f"|(?<=[{_IDEOGRAPH}])(?P<variant>[\U000e0100-\U000e01ef])"
    f"|(?P<bad>{_SUSPECT}++)"
)


def _invisible(text: str) -> _Step:
    if not _ANY_SUSPECT.search(text):
        return _Step([])
    cuts = []
    for match in _INVISIBLE.finditer(text):
        if match["line"]:
            breaks = "\n" * match["line"].count("\r")
            cuts.append(_Cut(match.start(), match.end(), "control", breaks))
        elif match["bad"]:
            cuts.append(_Cut(match.start(), match.end(), "control"))
    return _Step(cuts)


# --- Storage markers -----------------------------------------------------------------------------

_OPENER = r"<!--[ \t]*sources[ \t]*:[ \t]*"
# Openers with nothing between them but the beginning of JSON are one.
_OPENERS = re.compile(rf"{_OPENER}(?:(?:[\[{{][\[{{\"]*+\n?)?{_OPENER})*+", re.I)
_CLOSER = re.compile(r"\s*-->")
_JSON_TOKEN = re.compile(
    r'[ \t]++|\n(?![ \t]*\n)|[\[{]++|[\]},:]|"(?:[^"\\\n]++|\\.)*+"|-?\d[\d.eE+-]*+|true|false|null'
)
_DANGLING = re.compile(r'"(?:[^"\\\n]++|\\.)*+\\?')
_ITEM = re.compile(r"[\[{\"]")


def _markers(text: str) -> _Step:
    if "<!--" not in text:
        return _Step([])
    openers = list(_OPENERS.finditer(text))
    code = code_spans(text)
    cuts: list[_Cut] = []
    sources: tuple[StoredSource, ...] | None = None
    position = 0
    for at, opener in enumerate(openers):
        if opener.start() < position:
            continue
        limit = openers[at + 1].start() if at + 1 < len(openers) else len(text)
        end, found, json_end = _marker_end(text, opener, limit)
        if code.end_around(opener.start()) >= json_end:
            continue
        sources = found if found is not None else sources
        cuts.append(_cut_marker(text, opener.start(), end))
        position = end
    return _Step(cuts, sources)


def _marker_end(
    text: str, opener: re.Match[str], limit: int
) -> tuple[int, tuple[StoredSource, ...] | None, int]:
    """End of the marker, its sources if it is well-formed, and the end of its JSON."""
    json_end = _json_end(text, opener.end())
    closer = _CLOSER.match(text, json_end)
    found = _stored(text[opener.end() : json_end]) if closer else None
    if closer and found is not None:
        return _after_closers(text, opener[0].count(":"), json_end), found, json_end
    json_end = min(json_end, limit)
    newline = text.find("\n", json_end, limit)
    line_end = limit if newline < 0 else newline
    arrow = text.find("-->", opener.end(), line_end)
    if arrow >= 0:
        return _after_closers(text, opener[0].count(":"), arrow), None, json_end
    dangling = _DANGLING.match(text, json_end, line_end)
    if dangling and _ITEM.search(text, opener.end(), dangling.end()):
        return line_end, None, line_end
    return json_end, None, json_end


def _json_end(text: str, start: int) -> int:
    """End of what reads as one JSON value, whole or cut off, from `start` on."""
    depth, end, position = 0, start, start
    while match := _JSON_TOKEN.match(text, position):
        position = match.end()
        token = match[0]
        depth += len(token) if token[0] in "[{" else -(token in "]}")
        if not token.isspace():
            end = position
            if depth <= 0:
                break
    return end


def _after_closers(text: str, n_openers: int, position: int) -> int:
    for _ in range(n_openers):
        closer = _CLOSER.match(text, position)
        if closer is None:
            break
        position = closer.end()
    return position


def _cut_marker(text: str, start: int, end: int) -> _Cut:
    """At the end of the text the white space round the marker goes with it."""
    past = _past_blank(text, end)
    if past == len(text):
        start, end = len(text[:start].rstrip()), past
    return _Cut(start, end, "marker")


def _stored(raw: str) -> tuple[StoredSource, ...] | None:
    try:
        items = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list):
        return None
    return tuple(
        StoredSource(str(item.get("title") or ""), item["url"])
        for item in items
        if isinstance(item, dict) and isinstance(item.get("url"), str)
    )


# --- The list of sources that older answers ended with -------------------------------------------

_HEADING = re.compile(r"#{1,6}[ \t]+sources:?[ \t]*", re.I)
_NUMBERED = re.compile(r"[ \t]*(?:\d{1,3}[.)]|\[\d{1,3}\]:?)[ \t]+(?P<link>\S[^\n]*)")
_PLAIN_URL = re.compile(r"https?://[^\s<>]+")


def _source_list(text: str) -> _Step:
    """A heading "Sources" and below it nothing but numbered links until the end."""
    found: list[StoredSource] = []
    last: tuple[StoredSource, ...] | None = None
    cut_from = len(text)
    end = _before_blank(text, len(text))
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        if source := _numbered_link(line):
            found.append(source)
        elif found and _HEADING.fullmatch(line):
            last = last or tuple(reversed(found))
            cut_from = start
            found = []
        else:
            break
        end = _before_blank(text, start)
    return _Step([_list_cut(text, cut_from)] if last else [], last)


def _list_cut(text: str, start: int) -> _Cut:
    return _Cut(len(text[:start].rstrip()), len(text), "source list")


def _numbered_link(line: str) -> StoredSource | None:
    match = _NUMBERED.fullmatch(line)
    if match is None:
        return None
    link = match["link"].strip()
    title, bracket, url = link.rpartition("](")
    if bracket and title.startswith("[") and url.endswith(")") and _PLAIN_URL.match(url):
        return StoredSource(title[1:], url[:-1])
    plain = _PLAIN_URL.search(link)
    if plain is None or plain.end() != len(link):
        return None
    return StoredSource(link[: plain.start()].strip(" \t-–—:"), plain[0])


# --- Thoughts ------------------------------------------------------------------------------------

_THINK = re.compile(r"<(/?)(?:think|thinking|thought)>", re.I)
_ALONE = re.compile(r"[ \t]*(?:\n|\Z)")


def _thoughts(text: str) -> _Step:
    """Closed pairs go with what is in them. A lone opener hides nothing: only the tag goes.

    A lone closer on a line of its own ends thoughts whose opener was in the prompt, so what is
    before it goes too, unless that is all there is.
    """
    if "<" not in text:
        return _Step([])
    tags = list(_THINK.finditer(text))
    if not tags:
        return _Step([])
    code = code_spans(text)
    tags = [tag for tag in tags if code.end_around(tag.start()) < 0]
    return _Step(_pairs(text, tags))


def _pairs(text: str, tags: list[re.Match[str]]) -> list[_Cut]:
    cuts: list[_Cut] = []
    opened: list[re.Match[str]] = []
    for tag in tags:
        if not tag[1]:
            opened.append(tag)
        elif not opened:
            cuts.append(_tag_cut(tag) if cuts else _closer_cut(text, tag))
        else:
            first = opened.pop()
            while cuts and cuts[-1].start > first.start():
                cuts.pop()
            cuts.append(_Cut(first.start(), _past_blank(text, tag.end()), "thoughts"))
    cuts += [_tag_cut(tag) for tag in opened]
    return sorted(cuts, key=lambda cut: cut.start)


def _closer_cut(text: str, tag: re.Match[str]) -> _Cut:
    alone = text[: tag.start()].endswith(("\n", " \n")) and _ALONE.match(text, tag.end())
    if alone and text[tag.end() :].strip():
        return _Cut(0, _past_blank(text, tag.end()), "thoughts")
    return _tag_cut(tag)


def _tag_cut(tag: re.Match[str]) -> _Cut:
    return _Cut(tag.start(), tag.end(), "thoughts")


_BLANK = re.compile(r"\s*")


def _past_blank(text: str, position: int) -> int:
    if position < len(text) and not text[position].isspace():
        return position
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _before_blank(text: str, position: int) -> int:
    """Where the white space before `position` begins."""
    size = 64
    while position > 0:
        start = max(0, position - size)
        kept = len(text[start:position].rstrip())
        if kept:
            return start + kept
        position, size = start, 2 * size
    return 0


# --- The end of the rounds -----------------------------------------------------------------------

_ANY_TAG = re.compile(rf"{_OPENERS.pattern}|{_THINK.pattern}", re.I)


def _every_tag(text: str, author: Author) -> list[_Cut]:
    """Tags nested beyond reason: each leaves a line break, across which no tag can form."""
    tags = _ANY_TAG if author == "assistant" else _OPENERS
    return [_Cut(tag.start(), tag.end(), "marker", "\n") for tag in tags.finditer(text)]


_PASSES: tuple[Callable[[str], _Step], ...] = (_invisible, _markers, _source_list, _thoughts)


# --- Citation markers, for use of the engine without the chat ------------------------------------

_CITATION = re.compile(
    r"[ \t]?(?:\[\^?[ ]?\d{1,2}(?:[ ]?[,、–-][ ]?\d{1,2})*[ ]?\]"
    r"(?![(:A-Za-z0-9_]|\[(?!\^?[ ]?\d))"
    r"|【[ ]?\d{1,2}(?:[:†][^】\n]{0,60})?】)"
)
_MATHS = re.compile(r"\\\((?:[^\\\n]|\\(?!\)))*+\\\)|\$(?=[^\s\d$])[^$\n]{1,300}(?<=\S)\$")
_WORD_OR_STOP = re.compile(r"[\w.!?。！？…»”\"')\]*_%]")


def strip_citation_markers(text: str) -> Sanitized:
    """The text without `[1]`, `[1, 2]`, `【1†source】`, where they stand outside code and maths.

    For histories that are given to the engine directly. Within the product the chat removes the
    markers in its Markdown parser, by the rule that also makes the links.
    """
    code = code_spans(text)
    maths = Spans([match.span() for match in _MATHS.finditer(text)])
    cuts = []
    for match in _CITATION.finditer(text):
        outside = code.end_around(match.start()) < 0 and maths.end_around(match.start()) < 0
        before = text[match.start() - 1 : match.start()] if match.start() else ""
        if outside and _WORD_OR_STOP.match(before):
            cuts.append(_Cut(match.start(), match.end(), "citation"))
    removed: list[Removed] = []
    return Sanitized(_apply(text, cuts, removed), tuple(removed))
