"""What a model wrote as a summary, read with care: only what its originals bear out is taken.

Thoughts, markers and numbers of sources go; an address stays only if it occurs in the originals;
so does a number; a line whose words are not those of the conversation is dropped. Who said it and
when come from the message that a line's words are from, so a model cannot turn a suggestion of the
assistant into a fact of the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.engine.extracting import Weights
from memory.engine.sanitizer import sanitize
from memory.engine.sentences import sentences
from memory.engine.summaries import (
    URL,
    Item,
    Kind,
    MayKeep,
    Summary,
    addresses_of,
    day_of,
    in_parts,
    item_of,
    limit_tokens,
    parts_of,
    speaker_of,
    summary_of,
    url_of,
    urls_in,
    without_numbers,
)
from memory.engine.terms import exact_terms
from memory.engine.tokens import CountTokens
from memory.engine.transcript import Chunk
from memory.engine.values import Message

_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|thought)>", re.IGNORECASE)
_TITLE = re.compile(
    r"\W*(?:(?P<decision>decisions?)|(?P<fact>(?:key )?facts?)|(?P<question>open questions?|open)"
    r"|(?P<source>sources?))\W*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*+•·]|\d{1,3}[.)])?\s*")
_DAY = re.compile(r"^\W*\d{4}-\d{2}-\d{2}\W*")
_WHO = re.compile(r"^\W*(?P<who>[^\W\d][\w .'’-]{0,40}?)\W{0,4}?[:：]\s*")
_LINK = re.compile(r"!?\[(?P<text>[^\]\n]{0,300}+)\]\((?P<url>[^)\s]{0,500}+)[^)\n]{0,200}+\)")
_DIGITS = re.compile(r"\d{2,}")
_LEAST_WORDS = 2
_LEAST_GROUND = 0.3
_CLAIMED = 0.7
_LONGEST_CHARS = 300


@dataclass(frozen=True, slots=True)
class Read:
    """The items of one chunk's summary, and the addresses that it names as its sources."""

    items: tuple[Item, ...]
    urls: tuple[str, ...]


def combined_summary(
    messages: Sequence[Message],
    reads: Sequence[Read],
    most_tokens: int,
    count: CountTokens,
    may_keep: MayKeep,
) -> Summary:
    """One summary of a span from what was read of its chunks: lines are chosen, none is written
    anew. The sources are those that the model named, or all where it named none."""
    n_tokens = sum(count(message.text) for message in messages if message.role != "tool")
    limit = limit_tokens(len(messages), n_tokens, most_tokens)
    items = in_parts((item for read in reads for item in read.items), parts_of(messages, count))
    named = {url for read in reads for url in read.urls}
    addresses = addresses_of(messages)
    chosen = [one for one in addresses if one.url in named] or addresses
    return summary_of(items, chosen, limit, count, may_keep)


def read_summary(answer: str, chunk: Chunk, weights: Weights) -> Read:
    """What a model's answer holds of a chunk; nothing where it holds nothing of it."""
    ground = _Ground(chunk, weights)
    items: list[Item] = []
    urls: dict[str, None] = {}
    for kind, line in _lines(answer):
        urls |= dict.fromkeys(url for url in ground.addresses(line) if url in ground.urls)
        if kind is not None:
            items += [item for said in _sentences(line) for item in ground.items(kind, said)]
    return Read(tuple(items), tuple(urls))


def _lines(answer: str) -> Iterator[tuple[Kind | None, str]]:
    """The lines of an answer with the kind that their title names; None for sources."""
    text = sanitize(answer).text
    thought = _OPEN_THOUGHT.search(answer)
    if thought and not re.search(r"</(?:think|thinking|thought)>", answer, re.IGNORECASE):
        text = sanitize(answer[: thought.start()]).text
    kind: Kind | None = "fact"
    for line in text.splitlines():
        title = _TITLE.fullmatch(line)
        if title:
            kind = _kind_of(title)
        elif line.strip():
            yield kind, _BULLET.sub("", line, count=1).strip()


def _kind_of(title: re.Match[str]) -> Kind | None:
    if title["decision"]:
        return "decision"
    return "fact" if title["fact"] else "question" if title["question"] else None


def _sentences(line: str) -> list[str]:
    return [line] if len(line) <= _LONGEST_CHARS else list(sentences(line))


class _Ground:
    """What a chunk says, to hold a line against."""

    def __init__(self, chunk: Chunk, weights: Weights) -> None:
        said = zip(chunk.messages, chunk.numbers, strict=True)
        self._said = [(message, number) for message, number in said if message.role != "tool"]
        self._terms = [frozenset(exact_terms(message.text)) for message, _ in self._said]
        self._all = frozenset[str]().union(*self._terms)
        self._weights = weights
        self._speakers = {speaker_of(message).casefold() for message, _ in self._said}
        days = " ".join(day_of(message) for message, _ in self._said)
        self._digits = set(_DIGITS.findall(f"{chunk.text} {days}"))
        read = [message.target or "" for message in chunk.messages if message.role == "tool"]
        said_in = [url for message, _ in self._said for url in urls_in(message.text)]
        self.urls = {*said_in, *read}

    def items(self, kind: Kind, line: str) -> Iterator[Item]:
        """The line as an item, if the chunk bears it out."""
        claimed, text = self._claimed(line)
        text = without_numbers(self._known_addresses(text))
        terms = frozenset(exact_terms(URL.sub(" ", text)))
        if len(terms) < _LEAST_WORDS or not set(_DIGITS.findall(text)) <= self._digits:
            return
        if self._share(terms, self._all) < _LEAST_GROUND:
            return
        message, number = self._source_of(terms, claimed)
        weight = self._weights.of_terms(terms)
        if kind == "decision" and message.role != "user":
            kind = "fact"
        yield item_of(message, kind, text, (number, 0), weight)

    def _claimed(self, line: str) -> tuple[str, str]:
        """Who said it by the line's own words, and the line without them."""
        line = _DAY.sub("", line, count=1)
        who = _WHO.match(line)
        if who and who["who"].casefold() in self._speakers:
            return who["who"].casefold(), line[who.end() :]
        return "", line

    def _known_addresses(self, text: str) -> str:
        def shown(link: re.Match[str]) -> str:
            url = link["url"]
            return f"{link['text']} {url}" if url in self.urls else link["text"]

        text = _LINK.sub(shown, text)
        return URL.sub(lambda found: found[0] if url_of(found[0]) in self.urls else "", text)

    def addresses(self, line: str) -> list[str]:
        """What a line of sources names: pages, and documents of the library by their path."""
        return [*urls_in(line), *(word for word in line.split() if word.startswith("/"))]

    def _share(self, terms: frozenset[str], among: frozenset[str]) -> float:
        """How much of the terms' worth occurs there, from 0 to 1."""
        whole = sum(map(self._weights.idf, sorted(terms)))
        return sum(map(self._weights.idf, sorted(terms & among))) / whole if whole else 0.0

    def _source_of(self, terms: frozenset[str], claimed: str) -> tuple[Message, int]:
        """The message that the words are from: one of the speaker that the line names, unless
        another's has clearly more of them."""
        shares = [self._share(terms, own) for own in self._terms]
        best = max(range(len(shares)), key=lambda at: (shares[at], -at))
        own = [
            at for at, (message, _) in enumerate(self._said)
            if speaker_of(message).casefold() == claimed
        ]  # fmt: skip
        if own:
            closest = max(own, key=lambda at: (shares[at], -at))
            if shares[closest] >= _CLAIMED * shares[best]:
                best = closest
        return self._said[best]
