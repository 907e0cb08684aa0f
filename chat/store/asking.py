"""Beginning a run: the question is saved with an empty answer, once for each client id."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from chat import tree
from chat.library_models import LibraryFolder
from chat.models import Conversation, Message, Run, User
from chat.statuses import RunStatus
from chat.store.sweeping import sweep_conversation
from memory.service import clean_text, remember_later

PROCESS = f"{socket.gethostname()}:{os.getpid()}"
BUSY = "An answer is still being written in this conversation. Stop it first."


class Refused(Exception):
    """An ask that cannot be taken. `code` is for programs, the message for people.

    `wait_seconds` is after how long the same ask will be taken; 0 when waiting changes nothing.
    """

    def __init__(self, code: str, message: str, wait_seconds: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What a person chose for a conversation: a folder's id, None for all; texts may be empty."""

    folder: int | None = None
    name: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a person wants: a question in a conversation (None begins one), or one of the kinds
    that start from an existing message. Exactly one of `edits`, `regenerates`, `continues` may
    be set: the id of the question to replace, of the answer to make anew, or to go on with.
    `after` is the last message that the page shows: the question follows it, whichever version
    another page has made the head since. Without `facts` those of the conversation stay."""

    client_id: str
    text: str = ""
    conversation: int | None = None
    after: int | None = None
    edits: int | None = None
    regenerates: int | None = None
    continues: int | None = None
    time_zone: str = ""
    address: str = ""
    facts: SessionFacts | None = None


def begin_run(owner: User, ask: Ask) -> tuple[Run, bool]:
    """Saves the question and an empty answer marked running. The same client id is the same ask.

    Returns the run and whether it is new. Raises Refused.
    """
    known = Run.objects.of(owner).filter(client_id=ask.client_id).first()
    if known:
        return known, False
    try:
        with transaction.atomic():
            return _begin(owner, ask), True
    except IntegrityError:
        known = Run.objects.of(owner).filter(client_id=ask.client_id).first()
        if known:
            return known, False
        raise Refused("busy", BUSY) from None


def _begin(owner: User, ask: Ask) -> Run:
    now = timezone.now()
    conversation, parent, question = _place(owner, ask)
    sweep_conversation(conversation.pk)
    if conversation.runs.filter(status=RunStatus.RUNNING).exists():
        raise Refused("busy", BUSY)
    if ask.facts:
        _choose(owner, conversation, ask.facts)
    if question is None:
        text = clean_text(ask.text, author="user")
        question = Message.objects.create(
            conversation=conversation,
            parent=parent,
            role=Message.Role.USER,
            text=text,
            model_text=text,
            created_at=now,
        )
        remember_later(question.pk)
    answer = Message.objects.create(
        conversation=conversation,
        parent=question,
        role=Message.Role.ASSISTANT,
        created_at=now + timedelta(microseconds=1),
    )
    run = Run.objects.create(
        owner=owner,
        conversation=conversation,
        question=question,
        answer=answer,
        client_id=ask.client_id,
        continues=ask.continues is not None,
        time_zone=ask.time_zone,
        address=ask.address,
        process=PROCESS,
        started_at=now,
        heartbeat_at=now,
    )
    Conversation.objects.filter(pk=conversation.pk).update(
        head=answer, updated_at=now, title=conversation.title or tree.title_of(question.text)
    )
    return run


def _place(owner: User, ask: Ask) -> tuple[Conversation, Message | None, Message | None]:
    """The conversation, the parent of a new question, and the question when it exists."""
    if ask.regenerates or ask.continues:
        answer = _own_message(owner, ask.regenerates or ask.continues, Message.Role.ASSISTANT)
        if ask.continues and not answer.text.strip():
            raise Refused("nothing", "There is nothing to continue. Ask for a new answer instead.")
        return answer.conversation, None, answer.parent
    if ask.edits:
        edited = _own_message(owner, ask.edits, Message.Role.USER)
        return edited.conversation, edited.parent, None
    if ask.conversation is None:
        return Conversation.objects.create(owner=owner), None, None
    conversation = own_conversation(owner, ask.conversation)
    if ask.after is None:
        return conversation, conversation.head, None
    shown = _own_message(owner, ask.after)
    if shown.conversation_id != conversation.pk:
        raise Refused("unknown", "There is no such message in this conversation.")
    return conversation, shown, None


def _choose(owner: User, conversation: Conversation, facts: SessionFacts) -> None:
    folders = LibraryFolder.objects.visible_to(owner)
    if facts.folder and not folders.filter(pk=facts.folder).exists():
        raise Refused("unknown", "There is no such folder in your library any more.")
    known = SessionFacts(
        folder=conversation.folder_id, name=conversation.name, style=conversation.style
    )
    if facts != known:
        Conversation.objects.filter(pk=conversation.pk).update(
            folder=facts.folder, name=facts.name, style=facts.style
        )


def own_conversation(owner: User, pk: int) -> Conversation:
    """Raises Refused("unknown") alike for a conversation that is not there or not theirs."""
    found = Conversation.objects.of(owner).filter(pk=pk).select_related("head").first()
    if found is None:
        raise Refused("unknown", "There is no such conversation.")
    return found


def _own_message(owner: User, pk: int | None, role: str = "") -> Message:
    kind = {"role": role} if role else {}
    found = (
        Message.objects.of(owner)
        .filter(pk=pk or 0, **kind)
        .select_related("conversation", "parent")
        .first()
    )
    if found is None:
        raise Refused("unknown", "There is no such message.")
    return found
