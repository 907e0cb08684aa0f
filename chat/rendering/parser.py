"""The one Markdown parser: CommonMark, tables, strikethrough, task lists, maths and markers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from chat.rendering.maths import maths_plugin
from chat.rendering.rules import parse_link_label, rules_plugin


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Every link is read as one, `javascript:` too, so that its text is all that is shown.
        No address of the model's ever reaches a page."""
        return True


def _build() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "maxNesting": 100, "tasklists": True})
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
