"""What a run starts from and what is read of it: its rows, its history, its sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chat import tree
from chat.agent import values
from chat.agent.values import Origin, Span
from chat.models import Message, Run, Source, User

MOST_SAID = 1_000


def own_run(owner: User, conversation_id: int, run_id: int) -> Run | None:
    return Run.objects.of(owner).filter(conversation_id=conversation_id, pk=run_id).first()


def runs_after(owner: User, conversation_id: int, run_id: int) -> list[Run]:
    """The runs of a conversation that began after a given one."""
    runs = Run.objects.of(owner).filter(conversation_id=conversation_id, pk__gt=run_id)
    return list(runs.select_related("question", "answer"))


def newest_runs(count: int) -> dict[int, int]:
    """The newest runs of all, each with its conversation."""
    return dict(Run.objects.order_by("-pk").values_list("pk", "conversation_id")[:count])


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


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the conversation as a model reads it, with its id."""

    pk: int
    message: values.Message


def said_before(run: Run, since: int | None) -> tuple[list[Said], int]:
    """The clean messages before the run's question on its path, oldest first, from the message
    `since` on if it is on the path; and how many there are in all. Empty ones do not count:
    nothing was said. Of a path without `since` at most the newest `MOST_SAID` are read.
    """
    path = tree.path_ids(run.conversation_id, run.question.parent_id)
    spoken = Message.objects.filter(conversation_id=run.conversation_id).exclude(model_text="")
    known = set(spoken.values_list("pk", flat=True))
    ids = [pk for pk in path if pk in known]
    wanted = ids[ids.index(since) :] if since in known and since in ids else ids[-MOST_SAID:]
    rows = {pk: (role, text) for pk, role, text in _texts(wanted)}
    said = [Said(pk, values.Message(role=_role(rows[pk][0]), text=rows[pk][1])) for pk in wanted]
    return said, len(ids)


def _texts(ids: Sequence[int]) -> Iterable[tuple[int, str, str]]:
    return Message.objects.filter(pk__in=ids).values_list("pk", "role", "model_text")


def window_before(run: Run) -> int | None:
    """The first message that the turn before saw whole."""
    before = Run.objects.filter(answer_id=run.question.parent_id).values_list("receipt", flat=True)
    receipt = before.first() or {}
    found = receipt.get("window_from")
    return found if isinstance(found, int) else None


def said_rows(run: Run, ids: Sequence[int]) -> dict[int, Message]:
    """Messages of the run's conversation, without their texts."""
    rows = Message.objects.filter(conversation_id=run.conversation_id).only("role", "created_at")
    return rows.in_bulk(ids)


def earlier_sources(run: Run, ids: Sequence[int]) -> dict[int, Source]:
    """Sources that earlier turns of the run's conversation read, without their texts."""
    rows = Source.objects.filter(run__conversation_id=run.conversation_id).defer("snapshot")
    return rows.in_bulk(ids)


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
    rows = Source.objects.filter(run=run).prefetch_related("passages", "recalled_spans")
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
            recalled=row.recalled,
            origins=tuple(
                Origin(f"s{one.origin_id}", Span(one.start, one.end))
                for one in row.recalled_spans.all()
            ),
        )
        for row in rows
    ]
