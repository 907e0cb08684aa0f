"""A turn at the end of a long conversation, packed but not asked of any model."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from chat import store
from chat.agent.events import RunFinished, SourceFound, StepStarted, TextAdded
from chat.agent.values import Source as FoundSource
from chat.agent.values import Span
from chat.models import Conversation, Message, Run, User
from chat.recall import ConversationRecall, WindowRule
from tests.web.conftest import begun

PAGE = "The keel is 2.40 metres long.\n\nThe mast was built in Turku."
BUDGET = 1_000
RULE = WindowRule(newest=4, share=0.5)
QUESTION = "How long is the keel of the boat Marlene?"


def reads_a_page(
    owner: User,
    question: str = "What do you know of the boat Marlene?",
    *,
    title: str = "The boat Marlene",
    page: str = PAGE,
) -> Run:
    """A first turn that reads one page and answers."""
    run = begun(owner, question)
    source = FoundSource(
        number=1,
        title=title,
        url="https://boats.test/marlene",
        domain="boats.test",
        text=page,
        read_at=timezone.now(),
        provider="Page",
        passages=(Span(0, 29), Span(31, len(page))),
    )
    text = "Marlene is a sailing boat from Turku [1]."
    events = [StepStarted(1), SourceFound(source), TextAdded(text)]
    store.append_events(run.pk, 0, events)
    end = store.Ending(status="complete", text=text, model_name="m")
    store.end_run(run.pk, len(events), [RunFinished(status="complete")], end)
    return Run.objects.get(pk=run.pk)


def go_on(conversation_id: int, n: int) -> None:
    """More talk at the head of a conversation, about the weather."""
    conversation = Conversation.objects.get(pk=conversation_id)
    head = conversation.head_id
    for at in range(n):
        asked = at % 2 == 0
        text = f"How is the weather on day {at}?" if asked else f"On day {at} it {'rains ' * 9}."
        head = Message.objects.create(
            conversation=conversation,
            parent_id=head,
            role=Message.Role.USER if asked else Message.Role.ASSISTANT,
            text=text,
            model_text=text,
            created_at=timezone.now() + timedelta(milliseconds=at),
        ).pk
    Conversation.objects.filter(pk=conversation_id).update(head=head)


def packed_turn(owner: User, *, n_between: int = 40, budget: int = BUDGET, **first: str) -> Run:
    """A run at the end of a conversation that began with a page, with its receipt."""
    begin = reads_a_page(owner, **first)
    go_on(begin.conversation_id, n_between)
    run = begun(owner, QUESTION, conversation=begin.conversation_id)
    pack(run, budget)
    return run


def pack(run: Run, budget: int = BUDGET) -> None:
    recall = ConversationRecall(run, RULE, timezone.now())
    store.note_receipt(run.pk, recall.packed(run.question.text, budget))
    run.refresh_from_db()
