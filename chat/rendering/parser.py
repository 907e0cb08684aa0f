"""The one Markdown parser: CommonMark, tables, strikethrough, task lists, maths and markers."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

from chat.rendering.maths import maths_plugin
from chat.rendering.rules import parse_link_label, rules_plugin

_UNSPACED = re.compile(
    r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]"
)


class _State(StateInline):
    """CommonMark takes a `**` after a full stop and before a letter for an opening one, which
    is wrong in scripts without spaces: there, either neighbour is enough of a border."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        scanned = super().scanDelims(start, canSplitWord)
        before = self.src[start - 1 : start]
        after = self.src[start + scanned.length : start + scanned.length + 1]
        if not canSplitWord or before.isspace() or after.isspace() or not (before and after):
            return scanned
        return Scanned(
            scanned.can_open or _UNSPACED.match(before) is not None,
            scanned.can_close or _UNSPACED.match(after) is not None,
            scanned.length,
        )


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _Parser(MarkdownIt):
    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__("commonmark", options)
        self.inline = _Inline()
        self.configure("commonmark", options)

    def validateLink(self, url: str) -> bool:
        """Every link is read as one, `javascript:` too, so that its text is all that is shown.
        No address of the model's ever reaches a page."""
        return True


def _build() -> MarkdownIt:
    parser = _Parser({"html": False, "maxNesting": 100, "tasklists": True})
    parser.enable(["table", "strikethrough"])
    parser.disable(["reference", "html_block", "html_inline"])
    helpers: Any = SimpleNamespace(
        parseLinkLabel=parse_link_label,
        parseLinkDestination=parseLinkDestination,
        parseLinkTitle=parseLinkTitle,
    )
    parser.helpers = helpers
    return parser.use(maths_plugin).use(rules_plugin)


_PARSER = _build()


def parse(text: str) -> list[Token]:
    """The tokens of a segment, markers among the children of its inline tokens."""
    return _PARSER.parse(text)


def parse_blocks(text: str) -> list[Token]:
    """The tokens without their inline content, which is most of the work."""
    tokens: list[Token] = []
    state = StateBlock(text.replace("\r\n", "\n").replace("\r", "\n"), _PARSER, {}, tokens)
    _PARSER.block.tokenize(state, 0, state.lineMax)
    return tokens
