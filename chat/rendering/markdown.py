"""Model Markdown to HTML: the one place where it happens."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from chat.agent.values import Span
from chat.rendering.code import code_html, language_of
from chat.rendering.index import Citable, SourceIndex
from chat.rendering.maths import to_mathml
from chat.rendering.parser import parse
from chat.rendering.reading import closing_citations
from chat.rendering.resolving import resolve_inline
from chat.rendering.safety import clean
from chat.rendering.segments import segments


def answer_html(
    text: str,
    sources: Iterable[Citable] = (),
    *,
    prefix: str = "",
    unsupported: Collection[Span] = (),
) -> str:
    """An answer as safe HTML, which is that of its segments, one after the other.

    A marker of a source becomes `<a class="citation" data-source="N" href="#PREFIXsource-N">`.
    `prefix` keeps the answers of one page apart: the card of source N has the id
    `PREFIXsource-N`. `unsupported` are cited sentences, each of which gets a mark behind its last
    citation that says so in words.
    """
    blocks = answer_blocks(text, sources, prefix=prefix, unsupported=unsupported)
    return "".join(blocks)


def answer_blocks(
    text: str,
    sources: Iterable[Citable] = (),
    *,
    prefix: str = "",
    unsupported: Collection[Span] = (),
) -> list[str]:
    """The HTML of each segment of an answer."""
    index = SourceIndex(sources)
    return [
        segment_html(span.of(text), index, prefix, unsupported=_within(unsupported, span))
        for span in segments(text)
    ]


def _within(spans: Iterable[Span], outer: Span) -> list[Span]:
    """Those that lie in the outer one, counted from its beginning."""
    return [
        Span(span.start - outer.start, span.end - outer.start)
        for span in spans
        if outer.start <= span.start and span.end <= outer.end
    ]


def segment_html(
    text: str, index: SourceIndex, prefix: str = "", *, unsupported: Collection[Span] = ()
) -> str:
    tokens = parse(text)
    marked = closing_citations(text, index, unsupported)
    count = 0
    for token in tokens:
        if token.children:
            token.children = resolve_inline(token.children, index).tokens
            for child in token.children:
                if child.type == "citation":
                    child.meta["unsupported"] = count in marked
                    count += 1
    return clean(_RENDERER.render(tokens, _OPTIONS, {"index": index, "prefix": prefix}))


class _Renderer(RendererHTML):
    """Rules are found by the token's type; all have the signature of RendererHTML's."""

    def citation(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        badges = "".join(_citation(number, env) for number in tokens[pos].meta["numbers"])
        return badges + _UNSUPPORTED if tokens[pos].meta["unsupported"] else badges

    def heading_open(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return f"<{_heading(tokens[pos])}>"

    def heading_close(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return f"</{_heading(tokens[pos])}>\n"

    def fence(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return code_html(tokens[pos].content, language_of(tokens[pos].info))

    def code_block(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return code_html(tokens[pos].content)

    def maths(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return _maths(tokens[pos], display=tokens[pos].meta["display"])

    def maths_block(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return f'<div class="maths">{_maths(tokens[pos], display=True)}</div>\n'

    def source_line(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return ""

    def table_open(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return f'<div class="table">{self.renderToken(tokens, pos, options, env)}'

    def table_close(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return f"{self.renderToken(tokens, pos, options, env).rstrip()}</div>\n"

    def th_open(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return _cell(tokens[pos])

    def td_open(self, tokens: Sequence[Token], pos: int, options: Any, env: Any) -> str:
        return _cell(tokens[pos])


_UNSUPPORTED = (
    ' <span class="unsupported"><span class="unseen">The sentence before this is </span>'
    "not supported by its source</span>"
)
_OPTIONS = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).options
_RENDERER = _Renderer()


def _citation(number: int, env: Any) -> str:
    index: SourceIndex = env["index"]
    name = escape(f"Source {number}: {index.title(number)}")
    return (
        f'<a class="citation" data-source="{number}" href="#{escape(env["prefix"])}source-{number}"'
        f' aria-label="{name}"><span class="citation-number">{number}</span>'
        f'<span class="citation-domain">{escape(index.label(number))}</span></a>'
    )


def _maths(token: Token, *, display: bool) -> str:
    source = f'<code class="maths">{escape(token.markup)}</code>'
    return to_mathml(token.content, display=display) or source


def _heading(token: Token) -> str:
    """The page has a title and the question above an answer: its headings begin below them."""
    return f"h{min(int(token.tag[1:]) + 2, 6)}"


def _cell(token: Token) -> str:
    """The parser writes alignment as a style, which a page's content policy forbids."""
    alignment = str(token.attrs.get("style", "")).removeprefix("text-align:")
    return f'<{token.tag} class="align-{alignment}">' if alignment else f"<{token.tag}>"
