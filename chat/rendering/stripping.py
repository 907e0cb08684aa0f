"""An answer as language: for the history that a model reads, and for a clipboard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from chat.agent.citations import OPENERS
from chat.rendering.places import Block, SourceLine, blocks

_MAX_PASSES = 20
_SPACES = " \t\u00a0\u3000"


def strip_markers(text: str) -> str:
    """The text without any marker, whatever its number, and without the space before it. Links
    and images are their text; lines that list a source are gone. Code, maths, escapes and
    addresses stay as they are, and so does a text that holds none of these.

    What it returns it leaves unchanged: taking away one marker can bring another about, so it
    looks again until there is none, up to twenty brackets deep.
    """
    for _ in range(_MAX_PASSES):
        stripped = _strip_once(text)
        if stripped == text:
            break
        text = stripped
    return text


def _strip_once(text: str) -> str:
    if not any(opener in text for opener in OPENERS):
        return text
    kept, pos = [], 0
    for start, end in sorted(cut for block in blocks(text) for cut in _cuts(block, text)):
        kept.append(text[pos:start])
        pos = max(pos, end)
    if not pos:
        return text
    return "".join([*kept, text[pos:]]).strip("\r\n").rstrip()


def _cuts(block: Block | SourceLine, text: str) -> Iterator[tuple[int, int]]:
    if isinstance(block, SourceLine):
        yield block.span.start, block.span.end
        return
    cut_until = -1
    for start, end in _marks(block.children):
        span = block.span(start, end)
        line_start = max(block.piece_at(start).text_start, cut_until)
        cut = _with_space(text, span.start, span.end, line_start)
        cut_until = cut[1] if cut[0] == line_start else cut_until
        yield cut
    for start, end in _link_syntax(block.children):
        span = block.span(start, end)
        yield span.start, span.end


def _marks(children: Sequence[Token]) -> Iterator[tuple[int, int]]:
    for token in children:
        if token.type == "marker":
            yield token.meta["marker"].start, token.meta["marker"].end
        elif token.type == "link_open" and token.meta["marker"]:
            yield token.meta["span"]


def _link_syntax(children: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """What stands around the text of a link; an address in angle brackets is its own text."""
    for token in children:
        if token.type == "link_open" and not token.meta["marker"] and token.info != "auto":
            (start, end), (label_start, label_end) = token.meta["span"], token.meta["label"]
            yield start, label_start
            yield label_end, end


def _with_space(text: str, start: int, end: int, line_start: int) -> tuple[int, int]:
    """The span with the space before it; at the beginning of a line, with that after it."""
    while start > line_start and text[start - 1] in _SPACES:
        start -= 1
    while start == line_start and text[end : end + 1] in _SPACES and end < len(text):
        end += 1
    return start, end
