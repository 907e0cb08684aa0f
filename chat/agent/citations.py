"""What a marker is, and which source it means.

The Markdown parser's rule, the reader of citations and the cleaner of history share this one
rule. It sees a marker only where the parser asks: code, maths and links never come here.

A marker names sources by numbers from 1 to 99, without leading zeros. `[0]`, `[2024]`, `[1, 100]`
and `[3-1]` are text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

OPENERS = "[【［"

_GAP = r"[ \t\u00a0\u3000]{0,3}"
_NUMBER = rf"(?:\^|sources?{_GAP}[:#]?{_GAP})?(?!0)\d{{1,2}}"
_DASH = "[-\u2010-\u2015\u2212]"  # hyphens, dashes and the minus sign
_ITEM = rf"{_NUMBER}(?:{_GAP}{_DASH}{_GAP}{_NUMBER})?"
_LIST = rf"{_GAP}{_ITEM}(?:{_GAP}[,;，；、]{_GAP}{_ITEM}){{0,98}}{_GAP}"
# Every repeat is bounded, so that a bracket with a hundred thousand digits costs nothing.
_LISTED = re.compile(rf"\[\[{_LIST}\]\]|\[{_LIST}\]|【{_LIST}】|［{_LIST}］", re.IGNORECASE)
_DAGGER = re.compile(
    rf"(?P<square>\[)?(?(square)|【){_GAP}(?P<source>(?!0)\d{{1,2}})(?::\d{{1,4}})?{_GAP}"
    r"†[^\[\]【】\n]{0,80}(?(square)\]|】)"
)
_SPAN_OF_NUMBERS = re.compile(rf"(\d+)(?:{_GAP}{_DASH}{_GAP}[^\d,;，；、]*(\d+))?")

_CLOSING = frozenset(".!?…,;%°\"'。．！？，、；")
_CLOSING_CATEGORIES = frozenset({"Pe", "Pf", "Sc", "So", "Mn", "Mc", "Nl", "No"})
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class Marker:
    """`[start, end)` is its place in the text; `numbers` are in written order, each once."""

    start: int
    end: int
    numbers: tuple[int, ...]
    raw: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """What becomes of a marker.

    `numbers` are to be linked. Without any, the marker goes (`removed`, with the space before
    it) or stays as written. `strays` are the numbers that no source has, to be counted.
    """

    numbers: tuple[int, ...] = ()
    strays: tuple[int, ...] = ()
    removed: bool = False


def match_marker(text: str, pos: int) -> Marker | None:
    """The marker that begins at `pos`, if one does. Takes constant time."""
    if match := _LISTED.match(text, pos):
        numbers = _numbers(match.group())
    elif match := _DAGGER.match(text, pos):
        numbers = (int(match["source"]),)
    else:
        return None
    return Marker(match.start(), match.end(), numbers, match.group()) if numbers else None


def _numbers(raw: str) -> tuple[int, ...]:
    """The numbers of a list such as "1, 3-5"; none at all when a range runs backwards."""
    found: dict[int, None] = {}
    for first, last in _SPAN_OF_NUMBERS.findall(raw):
        span = range(int(first), int(last or first) + 1)
        if not span:
            return ()
        found.update(dict.fromkeys(span))
    return tuple(found)


def resolve(marker: Marker, known: Collection[int], preceding: str) -> Resolution:
    """Decides on a marker in an answer whose sources are `known`.

    `preceding` is the end of the text before it in its block, as it is shown; what stands at
    the beginning of a block cites nothing, so an unknown number there is text.
    """
    linked = tuple(number for number in marker.numbers if number in known)
    strays = tuple(number for number in marker.numbers if number not in known)
    if linked:
        return Resolution(linked, strays)
    if closes_a_claim(preceding):
        return Resolution((), strays, removed=True)
    return Resolution()


def closes_a_claim(preceding: str) -> bool:
    """Whether a marker after this text stands in citation position: after a word or its stop."""
    last = preceding.rstrip(" \t\u00a0\u3000")[-1:]
    if not last:
        return False
    return last.isalnum() or last in _CLOSING or unicodedata.category(last) in _CLOSING_CATEGORIES


def best_passage(claim: str, passages: Sequence[str]) -> int | None:
    """The index of the passage that holds most of the claim's words; of equals the first.

    None when no passage holds any. Words are compared without case, scripts without spaces by
    pairs of characters.
    """
    wanted = set(_words(_without_markers(claim)))
    if not wanted:
        return None
    held = [len(wanted.intersection(_words(passage))) for passage in passages]
    most = max(held, default=0)
    return held.index(most) if most else None


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text.casefold()):
        word = match.group()
        if len(word) > 1 and _UNSPACED.search(word):
            yield from (word[index : index + 2] for index in range(len(word) - 1))
        else:
            yield word


def _without_markers(text: str) -> str:
    kept, pos = [], 0
    for opener in re.finditer(f"[{re.escape(OPENERS)}]", text):
        marker = match_marker(text, opener.start()) if opener.start() >= pos else None
        if marker:
            kept.append(text[pos : marker.start])
            pos = marker.end
    return " ".join([*kept, text[pos:]])
