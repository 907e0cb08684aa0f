"""What a run starts from and what is read of it: its rows, its history, its sources."""

from __future__ import annotations

from collections.abc import Sequence

from chat import tree
from chat.agent import values
from chat.agent.values import Span
from chat.models import Message, Run, Source, User


def own_run(owner: User, conversation_id: int, run_id: int) -> Run | None:
    return Run.objects.of(owner).filter(conversation_id=conversation_id, pk=run_id).first()


def runs_after(owner: User, conversation_id: int, run_id: int) -> list[Run]:
    """The runs of a conversation that began after a given one."""
    runs = Run.objects.of(owner).filter(conversation_id=conversation_id, pk__gt=run_id)
    return list(runs.select_related("question", "answer"))


def run_with_parts(run_id: int) -> Run:
    return Run.objects.select_related("owner", "conversation__folder", "question", "answer").get(
        pk=run_id
    )


def cut_answer(run: Run) -> tuple[str, Sequence[values.Source]]:
    """The text and the sources that a continuation goes on from."""
    before = (
        Run.objects.filter(question=run.question, pk__lt=run.pk)
        .exclude(answer__text="")
        .select_related("answer")
        .last()
    )
    if before is None:
        return "", ()
    return before.answer.text, sources_of(before)


def clean_history(run: Run, newest: int) -> tuple[list[values.Message], int]:
    """The newest clean messages before the run's question on its path, oldest first, and how
    many there are in all. Empty ones do not count: nothing was said."""
    path = tree.path_ids(run.conversation_id, run.question.parent_id)
    said = Message.objects.filter(conversation_id=run.conversation_id).exclude(model_text="")
    rows = dict(said.values_list("pk", "role"))
    spoken = [pk for pk in path if pk in rows]
    wanted = spoken[-newest:] if newest else []
    texts = dict(Message.objects.filter(pk__in=wanted).values_list("pk", "model_text"))
    messages = [values.Message(role=_role(rows[pk]), text=texts[pk]) for pk in wanted]
    return messages, len(spoken)


def first_question(run: Run) -> str:
    """The question that began the run's conversation, on its path."""
    path = tree.path_ids(run.conversation_id, run.question_id)
    found = Message.objects.filter(pk__in=path[:1], role=Message.Role.USER).first()
    return found.text if found else run.question.text


def said_with(run: Run, quote: str) -> Message | None:
    """The person's newest message on the run's path that holds the quote, whatever its spaces and
    case; the run's question when there is no quote."""
    wanted = " ".join(quote.casefold().split())
    if not wanted:
        return run.question
    path = tree.path_ids(run.conversation_id, run.question_id)
    said = Message.objects.filter(pk__in=path, role=Message.Role.USER)
    texts = dict(said.values_list("pk", "text"))
    for pk in reversed(path):
        if wanted in " ".join(texts.get(pk, "").casefold().split()):
            return said.get(pk=pk)
    return None


def _role(role: str) -> values.Role:
    return "user" if role == Message.Role.USER else "assistant"


def sources_of(run: Run) -> list[values.Source]:
    """The sources of a run as values, in the order of their numbers."""
    rows = Source.objects.filter(run=run).prefetch_related("passages")
    return [
        values.Source(
            number=row.number,
            title=row.title,
            url=row.url,
            domain=row.domain,
            text=row.snapshot,
            read_at=row.read_at,
            provider=row.provider,
            published_at=row.published_at,
            passages=tuple(Span(one.start, one.end) for one in row.passages.all()),
        )
        for row in rows
    ]
