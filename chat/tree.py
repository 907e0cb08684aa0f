"""The message tree: paths, siblings, and what a conversation is called."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from chat.models import Message

TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Node:
    """A message without its text."""

    pk: int
    parent: int | None
    role: str


@dataclass(frozen=True, slots=True)
class Versions:
    """The siblings of a message, oldest first, itself among them at `index`."""

    ids: tuple[int, ...]
    index: int

    @property
    def number(self) -> int:
        return self.index + 1

    @property
    def before(self) -> int | None:
        return self.ids[self.index - 1] if self.index else None

    @property
    def after(self) -> int | None:
        return self.ids[self.index + 1] if self.index + 1 < len(self.ids) else None


class Tree:
    """The shape of one conversation, read in one query."""

    def __init__(self, conversation_id: int) -> None:
        rows = Message.objects.filter(conversation_id=conversation_id).order_by("id")
        self.nodes = {
            pk: Node(pk, parent, role)
            for pk, parent, role in rows.values_list("pk", "parent_id", "role")
        }
        self._children: dict[int | None, list[int]] = {}
        for node in self.nodes.values():
            self._children.setdefault(node.parent, []).append(node.pk)

    def path(self, head: int | None) -> list[int]:
        """From the first message to `head`."""
        path: list[int] = []
        while head is not None and head in self.nodes:
            path.append(head)
            head = self.nodes[head].parent
        return path[::-1]

    def children(self, pk: int | None) -> list[int]:
        """Oldest first; those of None begin the conversation."""
        return list(self._children.get(pk, ()))

    def is_answer(self, pk: int) -> bool:
        return self.nodes[pk].role == Message.Role.ASSISTANT

    def versions(self, pk: int) -> Versions:
        """The siblings of the same role: a question may stand beside an answer where an answer
        between them was deleted."""
        node = self.nodes[pk]
        siblings = self._children[node.parent]
        ids = tuple(one for one in siblings if self.nodes[one].role == node.role)
        return Versions(ids, ids.index(pk))

    def below(self, roots: Collection[int]) -> set[int]:
        """All messages after these."""
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            inner = self._children.get(waiting.pop(), ())
            found.update(inner)
            waiting.extend(inner)
        return found - set(roots)

    def newest_leaf(self, pk: int) -> int:
        """The end of the newest branch below a message."""
        while children := self._children.get(pk):
            pk = children[-1]
        return pk


def path_ids(conversation_id: int, head: int | None) -> list[int]:
    return Tree(conversation_id).path(head)


def title_of(question: str) -> str:
    """The question's first words, whole, as a conversation's name."""
    line = " ".join(question.split())
    if len(line) <= TITLE_CHARS:
        return line
    cut = line[:TITLE_CHARS].rsplit(" ", 1)[0]
    return f"{cut if len(cut) > TITLE_CHARS // 2 else line[:TITLE_CHARS]}…"
