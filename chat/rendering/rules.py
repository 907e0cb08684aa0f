"""What the Markdown parser is taught beside CommonMark.

- a marker of `chat.agent.citations` is a token of its own; the parser asks for it after code,
  maths and escapes and before links, so those are never touched
- a bare address is one piece of text, brackets included
- links and images remember where they stand; an image is a link to what it shows
- definitions are off: one that lists a source, `[1]: https://…`, is dropped, any other is text
- a block fenced as Markdown may hold fences of its own
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence
from markdown_it.rules_inline import StateInline, autolink, link
from markdown_it.token import Token

from chat.agent.citations import OPENERS, Marker, match_marker

_SCHEME = re.compile(r"(?:^|[^A-Za-z0-9])(?:https?|ftp)$", re.IGNORECASE)
_ADDRESS = re.compile(
    r"://(?:[^\s<>\[\]()`\"\\|【】［］「」『』（）《》、。，；！？]|\[[^\s\[\]<>]*\]|\([^\s()<>]*\))+"
)
_SOURCE_LINE = re.compile(
    r"[:：][ \t]*.{0,300}?<?https?://[^\s<>]+>?[)\].,;]*(?:[ \t]+[\"'(].{0,300}[\"')])?[ \t]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*(\S*)")
_MARKDOWN = frozenset({"markdown", "md", "mdx"})


def rules_plugin(md: MarkdownIt) -> None:
    for opener in OPENERS:
        md.inline.add_terminator_char(opener)
    md.inline.ruler.before("link", "marker", _marker_rule)
    md.inline.ruler.after("text", "address", _address_rule)
    md.inline.ruler.at("link", _link_rule)
    md.inline.ruler.at("image", _image_rule)
    md.inline.ruler.at("autolink", _autolink_rule)
    md.block.ruler.before(
        "paragraph", "source_line", _source_line_rule, {"alt": ["paragraph", "blockquote"]}
    )
    md.block.ruler.at(
        "fence", _fence_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def _marker_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in OPENERS:
        return False
    marker = match_marker(state.src, state.pos)
    if marker is None or marker.end > state.posMax or _is_link(state, marker):
        return False
    if not silent:
        state.push("marker", "", 0).meta = {"marker": marker}
    state.pos = marker.end
    return True


def _is_link(state: StateInline, marker: Marker) -> bool:
    """Whether the marker is the text of a link; `[1](see below)` is none."""
    if not state.src.startswith("(", marker.end):
        return False
    pos = state.pos
    found = link(state, True)
    state.pos = pos
    return found


def _address_rule(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("://", state.pos):
        return False
    if not _SCHEME.search(state.src, max(0, state.pos - 6), state.pos):
        return False
    match = _ADDRESS.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    address = _without_tail(match.group())
    if not silent:
        state.append_pending(address)
    state.pos += len(address)
    return True


def _without_tail(address: str) -> str:
    """The address without the punctuation and the markers that follow it."""
    while True:
        shorter = address.rstrip(".,;:!?'*_~")
        last = shorter.rfind("[") if shorter.endswith("]") else -1
        if last >= 0 and match_marker(shorter, last):
            shorter = shorter[:last]
        if shorter == address:
            return address
        address = shorter


def _link_rule(state: StateInline, silent: bool) -> bool:
    return _link_from(state, silent, state.pos)


def _image_rule(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("![", state.pos):
        return False
    state.pos += 1
    if _link_from(state, silent, state.pos - 1):
        return True
    state.pos -= 1
    return False


def _link_from(state: StateInline, silent: bool, start: int) -> bool:
    """CommonMark's link; its opening token gets the spans of the whole and of its text, and the
    marker when the text of a link is nothing else."""
    opener, n_tokens = state.pos, len(state.tokens)
    if not link(state, silent):
        return False
    if not silent:
        marker = match_marker(state.src, opener) if start == opener else None
        label_end = state.md.helpers.parseLinkLabel(state, opener)
        whole = marker is not None and marker.end == label_end + 1
        _opening(state, n_tokens).meta = {
            "span": (start, state.pos),
            "label": (opener + 1, label_end),
            "marker": marker if whole else None,
        }
    return True


def _autolink_rule(state: StateInline, silent: bool) -> bool:
    start, n_tokens = state.pos, len(state.tokens)
    if not autolink(state, silent):
        return False
    if not silent:
        _opening(state, n_tokens).meta = {
            "span": (start, state.pos),
            "label": (start + 1, state.pos - 1),
            "marker": None,
        }
    return True


def _opening(state: StateInline, n_tokens: int) -> Token:
    """The link's first token; pending text may have been flushed before it."""
    return next(token for token in state.tokens[n_tokens:] if token.type == "link_open")


def parse_link_label(state: StateInline, start: int, disable_nested: bool = False) -> int:
    """Where the link text that begins at `start` ends, or -1: markdown-it's helper, except that
    a marker is no nested link, so `[[1]](address)` and `[Ice [1]](address)` are links."""
    before, found, level = state.pos, -1, 1
    state.pos = start + 1
    while state.pos < state.posMax:
        pos, char = state.pos, state.src[state.pos]
        if char == "]":
            level -= 1
            if not level:
                found = pos
                break
        state.md.inline.skipToken(state)
        if char == "[" and state.pos == pos + 1:
            level += 1
        elif char == "[" and disable_nested and not _is_marker(state, pos):
            break
    state.pos = before
    return found


def _is_marker(state: StateInline, pos: int) -> bool:
    marker = match_marker(state.src, pos)
    return marker is not None and marker.end == state.pos


def _source_line_rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    pos = state.bMarks[start_line] + state.tShift[start_line]
    end = state.eMarks[start_line]
    if pos >= end or state.src[pos] not in OPENERS or state.is_code_block(start_line):
        return False
    marker = match_marker(state.src, pos)
    if marker is None or not _SOURCE_LINE.fullmatch(state.src, marker.end, end):
        return False
    if not silent:
        token = state.push("source_line", "", 0)
        token.map = [start_line, start_line + 1]
        state.line = start_line + 1
    return True


def _fence_rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    opening = None if silent or state.is_code_block(start_line) else _fence_at(state, start_line)
    if opening is None or opening[2].lower() not in _MARKDOWN:
        return fence(state, start_line, end_line, silent)
    last, depth = _end_of_markdown(state, start_line + 1, end_line, opening[1])
    token = state.push("fence", "code", 0)
    token.info, token.markup, token.meta = opening[2], opening[1], {"depth": depth}
    token.content = state.getLines(start_line + 1, last, state.sCount[start_line], True)
    state.line = last + 1 if depth < 0 else last
    token.map = [start_line, state.line]
    return True


def _end_of_markdown(state: StateBlock, line: int, end_line: int, markup: str) -> tuple[int, int]:
    """The line after the content of a block fenced as Markdown, and the depth there."""
    depth = 0
    for number in range(line, end_line):
        if not state.isEmpty(number) and state.sCount[number] < state.blkIndent:
            return number, depth
        if not state.is_code_block(number):
            depth = depth_after(_fence_at(state, number), markup, depth)
        if depth < 0:
            return number, depth
    return end_line, depth


def _fence_at(state: StateBlock, line: int) -> re.Match[str] | None:
    return match_fence(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]])


def match_fence(line: str) -> re.Match[str] | None:
    """The markup (1) and the first word after it (2) of a line that opens or closes a fence."""
    match = _FENCE.match(line)
    return None if match and match[1][0] == "`" and "`" in line[match.end(1) :] else match


def depth_after(match: re.Match[str] | None, markup: str, depth: int) -> int:
    """How many fences are open within a block fenced as Markdown; below 0 when it is closed.

    A fence that names a language opens one, as such a line can never close any.
    """
    if match is None or not match[1].startswith(markup):
        return depth
    return depth + 1 if match[2] else depth - 1
