"""From passages, as a tool returned them, to sentences that can be quoted.

A passage is untrusted: a sentence that Markdown, HTML or the reader of our markers could take for
something of its own is cleaned if that leaves it verbatim otherwise, and skipped if not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import islice

from chat.agent.citations import OPENERS, match_marker
from chat.agent.sentences import is_heading, sentence_spans
from chat.providers.models.extractive.language import is_spaceless, language_of, terms, words

_MAX_QUOTE_CHARS = 600
_MAX_PASSAGE_CHARS = 20_000
_MAX_CANDIDATES = 500
_MIN_WORDS, _MIN_CHARS_WITHOUT_SPACES = 4, 8
_BULLET = re.compile(r"^(?:[-*+•·]|\d{1,3}[.)])\s+")
_OPENER = re.compile(f"[{re.escape(OPENERS)}]")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)([^*_]{1,300})(?<=\S)\1")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,200})\]\([^()\s]{0,500}\)")
_UNQUOTABLE = re.compile(
    r"<\s*[/!?a-zA-Z]"  # a tag
    r"|[`\\]|\$\$|!\[|\]\s*[(:]"  # code, mathematics, a picture, a link
    r"|\[\s*\]|[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A span of a source. `published` is None where nobody knows."""

    number: int
    title: str
    text: str
    published: date | None = None


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A sentence that can be quoted; `position` counts from 0 within its passage."""

    passage: Passage
    text: str
    heading: str
    language: str
    position: int

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(terms(self.text, self.language))

    @cached_property
    def first_terms(self) -> list[str]:
        return terms(self.text[:40], self.language)[:2]

    @cached_property
    def context(self) -> frozenset[str]:
        """The terms of the title and of the heading."""
        return frozenset(terms(f"{self.passage.title}\n{self.heading}", self.language))


def candidates(passages: Sequence[Passage], default_language: str) -> list[Candidate]:
    """In order; only so many that ranking them takes no longer than a blink."""
    found = (one for passage in passages for one in _of_passage(passage, default_language))
    return list(islice(found, _MAX_CANDIDATES))


def quotable(sentence: str) -> str:
    """The sentence without markers, bullets and Markdown marks; empty if it cannot be quoted.

    White space becomes single spaces. Otherwise what is left is verbatim.
    """
    if len(sentence) > 2 * _MAX_QUOTE_CHARS:
        return ""
    text = _BULLET.sub("", " ".join(sentence.split()))
    text = _without_markers(_EMPHASIS.sub(r"\2", _LINK.sub(r"\1", text))).strip()
    is_unsafe = _UNQUOTABLE.search(text) or _without_markers(text) != text
    return "" if is_unsafe or len(text) > _MAX_QUOTE_CHARS else text


def _without_markers(text: str) -> str:
    """Each marker goes with the space before it. What is left may form a new one."""
    kept, position = [], 0
    for opener in _OPENER.finditer(text):
        marker = match_marker(text, opener.start()) if opener.start() >= position else None
        if marker:
            kept.append(text[position : marker.start].rstrip())
            position = marker.end
    return "".join([*kept, text[position:]])


def _of_passage(passage: Passage, default_language: str) -> Iterator[Candidate]:
    text = passage.text[:_MAX_PASSAGE_CHARS]
    code = language_of(f"{passage.title}\n{text}", default_language)
    heading, position = "", 0
    for span in sentence_spans(text):
        sentence = span.of(text)
        if is_heading(sentence):
            heading = sentence.strip("# ")
        elif _is_long_enough(quote := quotable(sentence)):
            yield Candidate(
                passage=passage, text=quote, heading=heading, language=code, position=position
            )
            position += 1


def _is_long_enough(quote: str) -> bool:
    found = words(quote)
    n_without_spaces = sum(len(word) for word in found if is_spaceless(word))
    return len(found) >= _MIN_WORDS or n_without_spaces >= _MIN_CHARS_WITHOUT_SPACES
