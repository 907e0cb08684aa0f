"""Bringing a path's index up to its head: once, whoever asks first.

Messages are analysed before the conversation's row is held, and written in short transactions. A
second writer waits for the row and finds the work done.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from memory.engine.analysis import Analysed, analyse
from memory.index_models import Block, IndexState, Mark
from memory.ports import MessageReader, ReadMessage
from memory.stored.formats import VERSION
from memory.stored.writing import Writer

_MESSAGES_A_STEP = 64
_LOOKED_BACK = 200


class NotTheirs(LookupError):
    """There is no such conversation or message of this owner."""


class StaleIndex(Exception):
    """Something was deleted meanwhile: what was read of the index is no longer all of it."""


def mark_of(owner_id: int, conversation_id: int, message_id: int) -> Mark | None:
    """An indexed message of the owner, with its block; one of an older version is none."""
    marks = Mark.objects.filter(
        message_id=message_id,
        block__owner_id=owner_id,
        block__state_id=conversation_id,
        block__state__version=VERSION,
    )
    return marks.select_related("block").defer("block__directory", "block__columns").first()


def index_path(
    reader: MessageReader, owner_id: int, conversation_id: int, head_id: int
) -> Mark | None:
    """Index what is missing up to the head. Returns the mark of the last message that is indexed:
    the head's, unless something on the way is still being written. Raises NotTheirs."""
    if not any(_belongs(one, owner_id, conversation_id) for one in reader.read([head_id])):
        raise NotTheirs(head_id)
    path = reader.path(conversation_id, head_id)
    _drop_older_version(conversation_id)
    at = _first_missing(path)
    while at < len(path):
        wanted = path[at : at + _MESSAGES_A_STEP]
        messages = _final(reader, wanted, owner_id, conversation_id)
        analysed = [(one.pk, [analyse(part) for part in one.parts]) for one in messages]
        before = path[at - 1] if at else None
        _write(reader, owner_id, conversation_id, before, analysed)
        at += len(messages)
        if len(messages) < len(wanted):
            break
    if not at:
        return None
    mark = mark_of(owner_id, conversation_id, path[at - 1])
    if mark is None:
        raise StaleIndex(conversation_id)
    return mark


def _belongs(one: ReadMessage, owner_id: int, conversation_id: int) -> bool:
    return (one.owner_id, one.conversation_id) == (owner_id, conversation_id)


def _drop_older_version(conversation_id: int) -> None:
    IndexState.objects.filter(pk=conversation_id).exclude(version=VERSION).delete()


def _first_missing(path: Sequence[int]) -> int:
    """How many messages from the beginning are indexed: what is before an indexed one is too."""
    for end in range(len(path), 0, -_LOOKED_BACK):
        start = max(0, end - _LOOKED_BACK)
        known = set(
            Mark.objects.filter(message_id__in=path[start:end]).values_list("message_id", flat=True)
        )
        for at in range(end - 1, start - 1, -1):
            if path[at] in known:
                return at + 1
    return 0


def _final(
    reader: MessageReader, ids: Sequence[int], owner_id: int, conversation_id: int
) -> list[ReadMessage]:
    """The messages in the order of the path, up to the first that may still change."""
    read = {one.pk: one for one in reader.read(ids)}
    messages = []
    for pk in ids:
        one = read.get(pk)
        if one is None or not _belongs(one, owner_id, conversation_id):
            raise StaleIndex(conversation_id)
        if not one.is_final:
            break
        messages.append(one)
    return messages


def _write(
    reader: MessageReader,
    owner_id: int,
    conversation_id: int,
    before: int | None,
    messages: Sequence[tuple[int, list[Analysed]]],
) -> None:
    if not messages:
        return
    with transaction.atomic():
        state = hold(owner_id, conversation_id)
        done = set(
            Mark.objects.filter(message_id__in=[pk for pk, _ in messages]).values_list(
                "message_id", flat=True
            )
        )
        missing = [one for one in messages if one[0] not in done]
        if done:
            before = [pk for pk, _ in messages if pk in done][-1]
        base = Mark.objects.select_related("block").filter(pk=before).first()
        if before and not base:
            raise StaleIndex(conversation_id)
        if missing:
            Writer(state, base, reader.read_parts).write(missing)


def hold(owner_id: int, conversation_id: int) -> IndexState:
    """The conversation's row, held until the transaction ends."""
    state, _ = IndexState.objects.select_for_update().get_or_create(
        conversation_id=conversation_id,
        defaults={"owner_id": owner_id, "version": VERSION},
    )
    return state


def forget_index(conversation_id: int) -> None:
    """Delete all that is indexed of a conversation; the next task or recall builds it anew."""
    with transaction.atomic():
        IndexState.objects.select_for_update().filter(pk=conversation_id).first()
        Block.objects.filter(state_id=conversation_id).delete()


def forget_indexed(message_id: int) -> None:
    """The same for the conversation of a message that is about to go, if it is indexed: what comes
    after it was counted on from it."""
    mark = Mark.objects.filter(pk=message_id).values_list("block__state_id", flat=True).first()
    if mark is not None:
        forget_index(mark)
