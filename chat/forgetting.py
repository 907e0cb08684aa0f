"""Deleting what a person names, with every trace of it. What they did not name stays.

A question goes with its answers, which repeat it and show what was searched for it; what was
asked afterwards is joined to what stood before. An answer goes alone, with all that it read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction

from chat import store, tree
from chat.accounts.receivers import with_an_account
from chat.models import Conversation, Message, Run, Source, User
from chat.statuses import RunStatus
from chat.store.traces import copies_go_along, forget_in_receipts, forget_suggestion
from memory.service import files_resting_on, forget_owner, whole_conversation

BUSY = "An answer is still being written in this conversation. Stop it first, then delete."


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """What would go along with a message; `n_versions` of it stay."""

    message: Message
    n_answers: int
    n_sources: int
    n_versions: int
    n_later: int
    memory_files: Sequence[str]
    is_all: bool


@dataclass(frozen=True, slots=True)
class Left:
    """Where a person finds themselves afterwards: None where nothing of it is left."""

    conversation_id: int | None
    question_id: int | None


def own_message(owner: User, pk: int) -> Message | None:
    return Message.objects.of(owner).filter(pk=pk).select_related("conversation").first()


def what_goes(message: Message) -> Going:
    """What deleting it means, for a person to read before they say yes."""
    shape = tree.Tree(message.conversation_id)
    gone = _going(shape, message.pk)
    return Going(
        message=message,
        n_answers=len(gone) - 1 if message.role == Message.Role.USER else 0,
        n_sources=Source.objects.filter(run__answer__in=gone).count(),
        n_versions=len(shape.versions(message.pk).ids) - 1,
        n_later=len(shape.below(gone)),
        memory_files=files_resting_on(message.conversation.owner_id, gone),
        is_all=set(shape.nodes) == gone,
    )


def forget_message(owner: User, pk: int) -> Left:
    """Deletes a question with its answers, or an answer. Raises Refused("unknown") for what is not
    theirs, Refused("busy") while an answer is being written in the conversation."""
    found = own_message(owner, pk)
    if found is None:
        raise store.Refused("unknown", "There is no such message.")
    store.sweep_conversation(found.conversation_id)
    try:
        with transaction.atomic():
            return _forget(found)
    except IntegrityError:
        # A question was asked after what goes, at the same moment.
        raise store.Refused("busy", BUSY) from None


def forget_conversation(owner: User, pk: int) -> None:
    """Deletes a conversation with everything in it. A run in it ends by itself: its row is gone.

    Raises Refused("unknown").
    """
    _delete(store.own_conversation(owner, pk))


def forget_account(user: User) -> None:
    """Deletes a person with everything of theirs, conversation by conversation: a database that is
    written by one at a time is not held for long. Half done, it can be done again."""
    Run.objects.of(user).filter(status=RunStatus.RUNNING).update(stop_requested=True)
    with with_an_account():
        forget_owner(user.pk)
        for conversation in Conversation.objects.of(user):
            _delete(conversation)
    kind = ContentType.objects.get_for_model(User)
    LogEntry.objects.filter(content_type=kind, object_id=str(user.pk)).delete()
    user.delete()


def _delete(conversation: Conversation) -> None:
    # In one transaction, so that no run in it saves to memory in between. Copies of its sources
    # are in it too.
    with transaction.atomic(), whole_conversation(conversation.pk), copies_go_along():
        conversation.delete()


# --- One message --------------------------------------------------------------------------------


def _going(shape: tree.Tree, pk: int) -> set[int]:
    """A message, and the answers to it if it is a question."""
    gone = {pk}
    if shape.nodes[pk].role == Message.Role.USER:
        gone |= {one for one in shape.children(pk) if shape.is_answer(one)}
    return gone


def _forget(message: Message) -> Left:
    conversation = Conversation.objects.select_for_update().get(pk=message.conversation_id)
    if conversation.runs.filter(status=RunStatus.RUNNING).exists():
        raise store.Refused("busy", BUSY)
    shape = tree.Tree(conversation.pk)
    gone = _going(shape, message.pk)
    _forget_traces(message, gone)
    joint = _joint(shape, message.pk, gone)
    later = Message.objects.filter(parent__in=gone).exclude(pk__in=gone)
    later.update(parent=joint)
    Message.objects.filter(pk__in=gone).delete()
    return _settle(conversation, message, joint)


def _forget_traces(message: Message, gone: Collection[int]) -> None:
    """What is not reached by the rows' own ties. Sources go with their copies, whoever deletes."""
    sources = Source.objects.filter(run__answer__in=gone).values_list("pk", flat=True)
    forget_in_receipts(message.conversation_id, gone, list(sources))
    if message.role == Message.Role.USER:
        forget_suggestion(message)


def _joint(shape: tree.Tree, pk: int, gone: Collection[int]) -> int | None:
    """What the messages after it follow from now on: another version of an answer if there is
    one, so that it stays within sight; else what stood before."""
    others = [one for one in shape.versions(pk).ids if one not in gone]
    if shape.is_answer(pk) and others:
        return others[-1]
    return shape.nodes[pk].parent


def _settle(conversation: Conversation, message: Message, joint: int | None) -> Left:
    """A conversation that has lost a message shows the same branch, or the newest near it."""
    shape = tree.Tree(conversation.pk)
    if not shape.nodes:
        conversation.delete()
        return Left(None, None)
    head = conversation.head_id
    if head not in shape.nodes:
        start = joint if joint is not None else shape.children(None)[-1]
        head = shape.newest_leaf(start)
    path = shape.path(head)
    title = conversation.title
    if message.role == Message.Role.USER and title == tree.title_of(message.text):
        title = _title(path)
    Conversation.objects.filter(pk=conversation.pk).update(head=head, title=title)
    return Left(conversation.pk, _question_near(shape, path, joint))


def _title(path: Sequence[int]) -> str:
    questions = Message.objects.filter(pk__in=path, role=Message.Role.USER)
    texts = dict(questions.values_list("pk", "text"))
    return next((tree.title_of(texts[pk]) for pk in path if pk in texts), "")


def _question_near(shape: tree.Tree, path: Sequence[int], joint: int | None) -> int | None:
    """The question of the turn that what went was in, or of the turn before."""
    end = path.index(joint) + 1 if joint in path else 1
    questions = [pk for pk in path[:end] if not shape.is_answer(pk)]
    return questions[-1] if questions else None
