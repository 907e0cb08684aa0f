"""From what was parsed to what is shown: markers and links become citations, text, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

from chat.agent.citations import Marker, resolve
from chat.rendering.index import SourceIndex

_SPACES = " \t\u00a0\u3000"
_TAIL_CHARS = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """Numbers and the span, in the block's inline content, of the marker or link they come from."""

    numbers: tuple[int, ...]
    start: int
    end: int


@dataclass(slots=True)
class Resolved:
    """`tokens` holds no marker and no link: citations (`meta["numbers"]`) and text instead."""

    tokens: list[Token] = field(default_factory=list)
    cited: list[Finding] = field(default_factory=list)
    strays: list[Finding] = field(default_factory=list)


def resolve_inline(children: Sequence[Token], index: SourceIndex) -> Resolved:
    """Decides on every marker and link of one block."""
    return _Resolver(index).run(children)


class _Resolver:
    def __init__(self, index: SourceIndex) -> None:
        self._index = index
        self._found = Resolved()
        self._links: list[tuple[int | None, Token]] = []
        self._shown = ""  # the end of the text so far, as it is shown
        self._kept_marker = False  # nothing but space was shown since a marker that stays text

    def run(self, children: Sequence[Token]) -> Resolved:
        pos = 0
        while pos < len(children):
            token = children[pos]
            if token.type == "link_open" and token.meta["marker"]:
                self._linked_marker(token)
                pos = _closing(children, pos)
            else:
                self._take(token)
            pos += 1
        return self._found

    def _take(self, token: Token) -> None:
        if token.type == "marker":
            marker = token.meta["marker"]
            self._marker(marker, marker.start, marker.end)
        elif token.type == "link_open":
            self._links.append((self._index.number_at(str(token.attrs["href"])), token))
        elif token.type == "link_close":
            number, opening = self._links.pop()
            if number is not None and not self._just_cited(number):
                self._cite((number,), *opening.meta["span"])
        else:
            self._found.tokens.append(token)
            self._show(_visible(token))

    def _linked_marker(self, opening: Token) -> None:
        """`[1](address)`: the source at the address, else what the marker says by itself."""
        number = self._index.number_at(str(opening.attrs["href"]))
        if number is not None:
            self._cite((number,), *opening.meta["span"])
        else:
            self._marker(opening.meta["marker"], *opening.meta["span"])

    def _marker(self, marker: Marker, start: int, end: int) -> None:
        preceding = "" if self._kept_marker else self._shown
        resolution = resolve(marker, self._index.numbers, preceding)
        if resolution.strays:
            self._found.strays.append(Finding(resolution.strays, start, end))
        if resolution.numbers:
            self._cite(resolution.numbers, start, end)
        elif resolution.removed:
            self._trim()
        else:
            self._found.tokens.append(Token("text", "", 0, content=marker.raw))
            self._show(marker.raw)
            self._kept_marker = True

    def _cite(self, numbers: tuple[int, ...], start: int, end: int) -> None:
        self._found.tokens.append(Token("citation", "", 0, meta={"numbers": numbers}))
        self._found.cited.append(Finding(numbers, start, end))
        self._show("]")

    def _just_cited(self, number: int) -> bool:
        """Whether a link's text ends with the marker of the source that it leads to."""
        last = self._found.tokens[-1:]
        return bool(last) and number in last[0].meta.get("numbers", ())

    def _show(self, text: str) -> None:
        self._shown = (self._shown + text[-_TAIL_CHARS:])[-_TAIL_CHARS:]
        if text.strip():
            self._kept_marker = False

    def _trim(self) -> None:
        """Takes away the space before a marker that was removed."""
        self._shown = self._shown.rstrip()
        tokens = self._found.tokens
        for pos in range(len(tokens) - 1, -1, -1):
            token = tokens[pos]
            if token.type == "text":
                token.content = token.content.rstrip(_SPACES)
                if token.content:
                    return
            elif token.type == "softbreak":
                token.type, token.content = "text", ""
            elif token.nesting != 1:
                return


def _closing(children: Sequence[Token], pos: int) -> int:
    """The place of the token that closes the link opened at `pos`."""
    level = children[pos].level
    while children[pos].type != "link_close" or children[pos].level != level:
        pos += 1
    return pos


def _visible(token: Token) -> str:
    if token.type == "softbreak":
        return " "
    if token.type == "hardbreak":
        return "\n"
    return token.content
