"""Maths in model text: what counts as a formula, and its MathML.

Four delimiters: `$…$` and `\\(…\\)` inline, `$$…$$` and `\\[…\\]` displayed. For `$` pandoc's rules
hold, and more, as most dollars in answers are money. A backslash before a bracket is also
Markdown's escape, so `\\[1\\]` and `\\[note\\]` stay text: a bracketed formula must look like one.

A formula is bounded in length, depth and lines. One that cannot be converted is shown as it was
written.
"""

from __future__ import annotations

import html
import re
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MAX_FORMULA_CHARS = 2_000
MAX_FORMULA_LINES = 100
MAX_DEPTH = 40

_DOLLARS = re.compile(rf"\$(?P<body>(?:[^$\\]|\\.){{1,{MAX_FORMULA_CHARS}}}+)\$(?!\d)", re.DOTALL)
_DOUBLE_DOLLARS = re.compile(
    rf"\$\$(?P<body>(?:[^$\\]|\\.){{1,{MAX_FORMULA_CHARS}}}+)\$\$", re.DOTALL
)
_TEX = re.compile(r"[\\^_=+<>{}]")
_ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|align|alignat|gathered|gather|eqnarray)\*?\}")
_EQUATION = re.compile(r"\\(?:begin|end)\{(?:equation|displaymath|math)\*?\}")
_GROUPS = re.compile(r"\\(?:(?:left|begin|right|end)(?![A-Za-z])|.)|[{}]", re.DOTALL)
_OPENING = frozenset({"{", r"\left", r"\begin"})
_CLOSING = frozenset({"}", r"\right", r"\end"})
_CLOSER = {"$$": "$$", "\\[": "\\]"}


def maths_plugin(md: MarkdownIt) -> None:
    md.inline.ruler.before("escape", "maths", _inline_rule)
    md.block.ruler.before(
        "fence", "maths_block", _block_rule, {"alt": ["paragraph", "blockquote", "list"]}
    )


def _inline_rule(state: StateInline, silent: bool) -> bool:
    char = state.src[state.pos]
    found = None
    if char == "$":
        found = _match_dollars(state)
    elif char == "\\":
        found = _match_brackets(state)
    if found is None:
        return False
    end, body, display = found
    if not silent:
        token = state.push("maths", "math", 0)
        token.content = body.strip()
        token.markup = state.src[state.pos : end]
        token.meta = {"display": display}
    state.pos = end
    return True


def _match_dollars(state: StateInline) -> tuple[int, str, bool] | None:
    double = state.src.startswith("$$", state.pos)
    pattern = _DOUBLE_DOLLARS if double else _DOLLARS
    match = pattern.match(state.src, state.pos, state.posMax)
    if match is None or not match["body"].strip():
        return None
    if not double and not _is_formula(state.src[: state.pos][-1:], match["body"]):
        return None
    return match.end(), match["body"], double


def _is_formula(before: str, body: str) -> bool:
    """Pandoc's rules, and: no dollar after a letter or digit (US$5), no amount with its prose."""
    if before.isalnum() or body[0].isspace() or body[-1].isspace():
        return False
    return not (body[0].isdigit() and re.search(r"\s", body) and not _TEX.search(body))


def _match_brackets(state: StateInline) -> tuple[int, str, bool] | None:
    opener = state.src[state.pos : state.pos + 2]
    if opener not in {"\\(", "\\["}:
        return None
    start = state.pos + 2
    closer = "\\)" if opener == "\\(" else "\\]"
    end = state.src.find(closer, start, min(state.posMax, start + MAX_FORMULA_CHARS))
    body = state.src[start:end] if end >= 0 else ""
    if not body.strip() or (opener == "\\[" and not _TEX.search(body)):
        return None
    return end + 2, body, opener == "\\["


def _block_rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    pos = state.bMarks[start_line] + state.tShift[start_line]
    opener = state.src[pos : min(pos + 2, state.eMarks[start_line])]
    if opener not in _CLOSER:
        return False
    found = _block_end(state, start_line, end_line, _CLOSER[opener])
    if found is None:
        return False
    last_line, tail = found
    source = state.getLines(start_line, last_line + 1, state.blkIndent, False).strip()
    body = source[2 : len(source) - 2 - len(tail)] + tail
    if not body.strip() or (opener == "\\[" and "\n" not in body and not _TEX.search(body)):
        return False
    if not silent:
        token = state.push("maths_block", "math", 0)
        token.content, token.markup = body.strip(), source
        token.map = [start_line, last_line + 1]
        state.line = last_line + 1
    return True


def _block_end(
    state: StateBlock, start_line: int, end_line: int, closer: str
) -> tuple[int, str] | None:
    """The line that ends with the closer, and the punctuation after it, before any blank line."""
    for line in range(start_line, min(end_line, start_line + MAX_FORMULA_LINES)):
        if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return None
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
        body = text[2:] if line == start_line else text
        _, found, tail = body.partition(closer)
        if found:
            return (line, tail) if tail in {"", ".", ",", ";"} else None
    return None


def to_mathml(formula: str, *, display: bool) -> str | None:
    """The formula as a MathML element, or None where it cannot be converted whole."""
    formula = _EQUATION.sub("", _ALIGNED.sub(r"\\\1{align*}", formula)).strip()
    if not _is_bounded(formula):
        return None
    try:
        element = convert_to_element(formula, display="block" if display else "inline")
    except Exception:
        # The library raises a dozen unrelated classes, and IndexError and StopIteration, on
        # formulas that are not well formed; all mean the same here.
        return None
    if not _unescape(element):
        return None
    element.set("alttext", formula)
    return tostring(element, encoding="unicode")


def _unescape(element: Element) -> bool:
    """Turns the library's character references into characters, so that serialising escapes
    them once. False when a command was not understood and would be shown by its name."""
    for part in element.iter():
        part.text = html.unescape(part.text or "")
        if len(part.text) > 1 and part.text.startswith("\\"):
            return False
    return True


def _is_bounded(formula: str) -> bool:
    """Whether it is short, and its groups are balanced and not too deep for a recursive reader;
    the library would guess at what an open group means."""
    if len(formula) > MAX_FORMULA_CHARS:
        return False
    depth = 0
    for match in _GROUPS.finditer(formula):
        if match.group() in _OPENING:
            depth += 1
        elif match.group() in _CLOSING:
            depth -= 1
        if not 0 <= depth <= MAX_DEPTH:
            return False
    return depth == 0
