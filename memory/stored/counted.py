"""The counted lists of a path: totals from its head, names as many as can be printed."""

from __future__ import annotations

from typing import cast

from django.db.models import Count, F, Q, QuerySet, Sum, Window
from django.db.models.functions import Length

from memory.engine.asking import asks_list
from memory.engine.ledger import LIST_SHARE, QUIET_SHARE, Ledger, Tally, Topic
from memory.index_models import Event
from memory.stored.places import Places
from memory.stored.totals import Totals

_CHARS_A_TOKEN = 8
"""No name is so long at fewer tokens: four letters are one, and a blank between them is free."""


class StoredLedger(Ledger):
    """Holds the newest names of each topic: all of them, or more than can be printed."""

    def __init__(self, places: Places, totals: Totals, question: str, budget_tokens: int) -> None:
        super().__init__({cast(Topic, topic): Tally() for topic in totals.topics})
        self._counts = totals.topics
        asked = set(self.topics(question)) if asks_list(question) else set()
        most = {
            topic: int(budget_tokens * (LIST_SHARE if topic in asked else QUIET_SHARE))
            for topic in self.tallies
        }
        names = _newest_names(places, most)
        times = _times(places, names)
        for topic, key, name in names:
            self.tallies[cast(Topic, topic)].times[name] = times[topic, key]

    def total(self, topic: Topic) -> int:
        return self._counts[topic][0]

    def size(self, topic: Topic) -> int:
        return self._counts[topic][1]


def _newest_names(places: Places, most: dict[Topic, int]) -> list[tuple[str, str, str]]:
    """Topic, key and name, in the order in which they came up first on the path: of each topic as
    many of the newest as must cost more than so many tokens, or all."""
    order = [F("block").desc(), F("position").desc(), F("pk").desc()]
    size = Length("name") + _CHARS_A_TOKEN
    behind = Window(Sum(size), partition_by=F("topic"), order_by=order) - size
    wanted = Q(pk=None)
    for topic, n_tokens in most.items():
        wanted |= Q(topic=topic, behind__lte=_CHARS_A_TOKEN * (n_tokens + 1))
    first = _on(places).filter(is_first=True).annotate(behind=behind).filter(wanted)
    rows = sorted(first.values_list("block", "position", "pk", "topic", "name_key", "name"))
    return [(topic, key, name) for *_, topic, key, name in rows]


def _times(places: Places, names: list[tuple[str, str, str]]) -> dict[tuple[str, str], int]:
    """How often each name was counted under a topic."""
    keys = {key for _, key, _ in names}
    counted = _on(places).filter(name_key__in=[*keys, ""]).values_list("topic", "name_key")
    return {(topic, key): n for topic, key, n in counted.annotate(n=Count("pk"))}


def _on(places: Places) -> QuerySet[Event]:
    """The events of a path: of a block that it leaves early, those before."""
    events = Event.objects.filter(block_id__in=list(places.chain))
    for block, end in places.left_early.items():
        events = events.exclude(block_id=block, position__gte=end)
    return events
