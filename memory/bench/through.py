"""The bench's cases asked through the database: the same figures, or something is wrong there."""

from __future__ import annotations

from django.db import transaction

from memory.bench.baselines import Kept
from memory.bench.packers import Ask, kept_of
from memory.bench.probes import Case
from memory.bench.stored import PlainMessages
from memory.engine.ports import Embedder
from memory.engine.tokens import CountTokens
from memory.engine.values import Policy
from memory.index_models import Part
from memory.stored.indexing import index_path
from memory.stored.meaning import encode_pending
from memory.stored.recalling import recall

_PARTS = 500


class ThroughDatabase:
    """Puts each case into a conversation of its own, once for all that is asked of it."""

    def __init__(self) -> None:
        self._reader = PlainMessages()
        self._owner = self._reader.owner()
        self._put: dict[str, tuple[int, int, dict[str, str | int]]] = {}

    def __call__(
        self, case: Case, embedder: Embedder | None, policy: Policy, count: CountTokens
    ) -> tuple[Ask, dict[str | int, int]]:
        """What answers by what is stored, and the lines of every message."""
        conversation, head, names = self._stored(case)
        while embedder and encode_pending(self._reader, embedder, _PARTS):
            pass
        parts = Part.objects.filter(block__state_id=conversation).values_list("key", "n_lines")
        n_lines = {names[key]: n for key, n in parts}

        def ask(question: str, budget: int) -> Kept:
            packed = recall(
                self._reader,
                self._owner.pk,
                conversation,
                head,
                question,
                budget,
                now=case.now,
                first_source=None,
                policy=policy,
                count_tokens=count,
                embedder=embedder,
            )
            return kept_of(packed, budget, n_lines, names)

        return ask, n_lines

    def _stored(self, case: Case) -> tuple[int, int, dict[str, str | int]]:
        if case.name not in self._put:
            conversation = self._reader.conversation(self._owner)
            with transaction.atomic():
                told, head = self._reader.put(conversation, case.messages)
            index_path(self._reader, self._owner.pk, conversation.pk, head.pk)
            names = {str(a.id): b.id for a, b in zip(told, case.messages, strict=True)}
            self._put[case.name] = (conversation.pk, head.pk, names)
        return self._put[case.name]
