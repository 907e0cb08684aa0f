"""Taking in a conversation from elsewhere: cleaned at the door, its sources made into cards."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from chat import store, tree
from chat.agent.sources import domain_of
from chat.agent.values import Source
from chat.citing import citations_of
from chat.models import Conversation, Message, Run, User
from chat.rendering import strip_markers
from chat.statuses import RunStatus
from memory.service import Sanitized, sanitize

IMPORTED = "imported"
NO_QUESTION = "…"


class ImportRefused(ValueError):
    """The file is not a conversation; the message says what is wrong and where."""


def import_conversation(owner: User, told: Any) -> Conversation:
    """Saves a conversation given as a list of messages, or as an object with `title` and
    `messages`. Each message has `role` (user or assistant) and `content` or `text`, and may have
    `created_at` in ISO 8601. All or nothing. Raises ImportRefused."""
    title, messages = _understood(told)
    with transaction.atomic():
        conversation = Conversation.objects.create(owner=owner, title=title[:120])
        head = _import_messages(owner, conversation, messages)
        conversation.head = head
        conversation.title = conversation.title or tree.title_of(_first_question(conversation))
        conversation.updated_at = head.created_at if head else timezone.now()
        conversation.save()
    return conversation


def _understood(told: Any) -> tuple[str, list[Mapping[str, Any]]]:
    if isinstance(told, list):
        told = {"messages": told}
    if not isinstance(told, dict) or not isinstance(told.get("messages"), list):
        raise ImportRefused('Give a list of messages, or {"title": …, "messages": […]}.')
    for number, message in enumerate(told["messages"], start=1):
        if not isinstance(message, dict) or message.get("role") not in {"user", "assistant"}:
            raise ImportRefused(f"Message {number} needs a `role`: user or assistant.")
        if not isinstance(_text(message), str):
            raise ImportRefused(f"Message {number} needs its text in `content`.")
    return str(told.get("title") or ""), told["messages"]


def _text(message: Mapping[str, Any]) -> Any:
    return message.get("content", message.get("text"))


def _import_messages(
    owner: User, conversation: Conversation, messages: Sequence[Mapping[str, Any]]
) -> Message | None:
    head: Message | None = None
    for message in messages:
        at = _moment(message.get("created_at"), head)
        if message["role"] == "user":
            head = _import_question(conversation, head, _text(message), at)
        else:
            if head is None or head.role == Message.Role.ASSISTANT:
                head = _import_question(conversation, head, NO_QUESTION, at, spoken=False)
            head = _import_answer(owner, conversation, head, _text(message), at)
    return head


def _moment(told: Any, before: Message | None) -> datetime:
    """The message's time; one that is missing or wrong is right after the message before."""
    try:
        at = parse_datetime(told) if isinstance(told, str) else None
    except ValueError:
        at = None
    if at is None:
        return before.created_at + timedelta(microseconds=1) if before else timezone.now()
    return at if timezone.is_aware(at) else timezone.make_aware(at)


def _import_question(
    conversation: Conversation,
    parent: Message | None,
    text: str,
    at: datetime,
    *,
    spoken: bool = True,
) -> Message:
    clean = sanitize(text, author="user").text
    return Message.objects.create(
        conversation=conversation,
        parent=parent,
        role=Message.Role.USER,
        text=clean,
        model_text=clean if spoken else "",
        created_at=at,
    )


def _import_answer(
    owner: User, conversation: Conversation, question: Message, text: str, at: datetime
) -> Message:
    cleaned = sanitize(text)
    answer = Message.objects.create(
        conversation=conversation,
        parent=question,
        role=Message.Role.ASSISTANT,
        text=cleaned.text,
        model_text=strip_markers(cleaned.text),
        created_at=at,
    )
    run = Run.objects.create(
        owner=owner,
        conversation=conversation,
        question=question,
        answer=answer,
        client_id=f"{IMPORTED}-{secrets.token_urlsafe(12)}",
        status=RunStatus.COMPLETE if cleaned.text.strip() else RunStatus.EMPTY,
        model_name=IMPORTED,
        started_at=at,
        heartbeat_at=at,
        finished_at=at,
    )
    _import_sources(run, cleaned, at)
    return answer


def _import_sources(run: Run, cleaned: Sanitized, at: datetime) -> None:
    """Each listed source keeps its place in the list, which is the number that the old answer
    cites it by. What its page said was not kept, so it has no passages."""
    sources = [
        Source(
            number=number,
            title=one.title or domain_of(one.url),
            url=one.url,
            domain=domain_of(one.url),
            text="",
            read_at=at,
            provider=IMPORTED,
        )
        for number, one in enumerate(cleaned.sources, start=1)
    ]
    store.keep_sources(run.pk, sources)
    store.cite(run, citations_of(cleaned.text, sources)[0])


def _first_question(conversation: Conversation) -> str:
    first = conversation.messages.filter(role=Message.Role.USER).order_by("pk").first()
    return first.text if first else ""
