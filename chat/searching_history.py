"""The search of everything that was said: memory ranks, the store has the words.

For the page, for the agent's tool, and for programs alike. What is found is read from the rows of
the person who asks, so that nothing of anyone else's can be shown, whatever the index says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from chat import store
from chat.agent.values import HistoryHit, HistoryQuery, Role
from chat.database import in_database
from chat.excerpts import Excerpt, excerpt
from chat.models import Message, Run, Source, User
from chat.turns import page_at
from memory.service import FoundLine, search_history


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Any of the words of `text`, on days of the person's zone, the first and the last included."""

    text: str
    limit: int
    conversation: int | None = None
    role: Literal["user", "assistant"] | None = None
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A message that holds some of the words, or an answer for which a page was read that does:
    then `page` is that page's title."""

    message: Message
    page: str
    excerpt: Excerpt
    address: str

    @property
    def title(self) -> str:
        return str(self.message.conversation)


def find(owner: User, wanted: Wanted, zone: ZoneInfo) -> list[Found]:
    """The best first. Raises Refused("unknown") for a conversation that is not theirs."""
    if wanted.conversation is not None:
        store.own_conversation(owner, wanted.conversation)
    lines = search_history(
        owner.pk,
        wanted.text,
        limit=wanted.limit,
        conversation_id=wanted.conversation,
        role=wanted.role,
        since=_midnight(wanted.since, zone),
        until=_midnight(wanted.until + timedelta(days=1), zone) if wanted.until else None,
    )
    rows = Message.objects.of(owner).select_related("conversation")
    messages = rows.in_bulk({line.message_id for line in lines})
    pages = _pages(owner, lines)
    return [
        _found(messages[line.message_id], line, wanted.text, pages)
        for line in lines
        if line.message_id in messages and (line.role != "tool" or line.key in pages)
    ]


def _pages(owner: User, lines: Sequence[FoundLine]) -> Mapping[str, str]:
    """The titles of the pages among what was found, by their keys."""
    read = [int(line.key[1:]) for line in lines if line.role == "tool"]
    rows = Source.objects.of(owner).only("title", "domain").in_bulk(read)
    return {f"s{pk}": row.title or row.domain for pk, row in rows.items()}


def _found(message: Message, line: FoundLine, query: str, pages: Mapping[str, str]) -> Found:
    question = message.pk if message.role == Message.Role.USER else message.parent_id
    return Found(
        message=message,
        page=pages.get(line.key, ""),
        excerpt=excerpt(line.excerpt, query, near=line.match.start),
        address=page_at(message.conversation_id, question, message.pk),
    )


def _midnight(day: date | None, zone: ZoneInfo) -> datetime | None:
    return datetime.combine(day, time(), zone) if day else None


class RunHistorySearch:
    """The `HistorySearch` port for one run: it finds everything but the run's own turn."""

    def __init__(self, run: Run, zone: ZoneInfo) -> None:
        self._run = run
        self._zone = zone

    async def search(self, query: HistoryQuery) -> Sequence[HistoryHit]:
        found = await in_database(self._find)(query)
        return [self._hit(one) for one in found][: query.limit]

    def _find(self, query: HistoryQuery) -> list[Found]:
        mine = {self._run.question_id, self._run.answer_id}
        wanted = Wanted(
            text=query.text,
            limit=query.limit + len(mine),
            conversation=self._run.conversation_id if query.where == "this" else None,
            role=query.role,
            since=query.since,
            until=query.until,
        )
        found = find(self._run.owner, wanted, self._zone)
        return [one for one in found if one.message.pk not in mine]

    def _hit(self, found: Found) -> HistoryHit:
        return HistoryHit(
            on=found.message.created_at.astimezone(self._zone).date().isoformat(),
            who=_who(found),
            conversation=found.title,
            link=found.address,
            excerpt=found.excerpt.text,
        )


def _who(found: Found) -> Role:
    if found.page:
        return "tool"
    return "user" if found.message.role == Message.Role.USER else "assistant"
