"""A turn as the page shows it, put together from rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.safestring import SafeString

from chat import store
from chat.agent.values import Span
from chat.models import Citation, Conversation, Message, Run, RunEvent, Source
from chat.presenting import TurnPresenter, id_prefix, safe_answer
from chat.statuses import RunStatus
from chat.steps import Steps, steps_of
from chat.tree import Tree, Versions

TURNS_A_PAGE = 30


_CUT = (RunStatus.TRUNCATED, RunStatus.STOPPED, RunStatus.INTERRUPTED, RunStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question with its answer, ready for the template. `seq` is the last event shown."""

    question: Message
    question_versions: Versions
    answer: Message | None = None
    answer_versions: Versions | None = None
    run: Run | None = None
    steps: Steps | None = None
    html: SafeString | str = ""
    used: Sequence[Source] = ()
    others: Sequence[Source] = ()
    seq: int = 0
    is_last: bool = False

    @property
    def is_running(self) -> bool:
        return self.run is not None and self.run.status == RunStatus.RUNNING

    @property
    def prefix(self) -> str:
        return id_prefix(self.answer.pk) if self.answer else ""

    @property
    def can_continue(self) -> bool:
        """A cut answer with some text can go on; a complete or empty one cannot."""
        if not (self.is_last and self.run and self.answer and self.answer.text.strip()):
            return False
        return self.run.status in _CUT

    @property
    def spent(self) -> str:
        """Model, seconds and tokens of the turn, such as "llama3.2 · 4.1 s · 2,310 tokens"."""
        run = self.run
        if run is None or run.finished_at is None or run.finished_at == run.started_at:
            return run.model_name if run else ""
        seconds = (run.finished_at - run.started_at).total_seconds()
        n_tokens = run.prompt_tokens + run.completion_tokens
        parts = [run.model_name, f"{seconds:.1f} s", f"{n_tokens:,} tokens" if n_tokens else ""]
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPage:
    """Some turns of a conversation's path to `head`; `before` asks for the ones above, `at` names
    the message that was looked for. `is_newest` when the last of them is the path's end."""

    turns: Sequence[Turn]
    head: int | None
    before: int | None
    at: int | None = None
    is_newest: bool = True
    is_other_version: bool = False


def path_page(
    conversation: Conversation, before: int | None = None, at: int | None = None
) -> PathPage:
    """Up to `TURNS_A_PAGE` turns that end before the question `before`, or hold the message `at`,
    or end at the head. Of a message that is not on the active path its newest branch is shown."""
    tree = Tree(conversation.pk)
    at = at if at in tree.nodes else None
    head = conversation.head_id
    path = tree.path(head)
    if at is not None and at not in path:
        head = tree.newest_leaf(at)
        path = tree.path(head)
    questions = [pk for pk in path if not tree.is_answer(pk)]
    end = _end(path, questions, before, at)
    wanted = questions[max(0, end - TURNS_A_PAGE) : end]
    return PathPage(
        turns=_turns(tree, path, wanted, last=head),
        head=head,
        before=wanted[0] if end > len(wanted) else None,
        at=at,
        is_newest=end == len(questions),
        is_other_version=head != conversation.head_id,
    )


def _end(path: Sequence[int], questions: Sequence[int], before: int | None, at: int | None) -> int:
    """How many of the questions there are up to the last one to show."""
    if before in questions:
        return questions.index(before)
    if at is None:
        return len(questions)
    n_until = sum(pk in questions for pk in path[: path.index(at) + 1])
    if len(questions) - n_until < TURNS_A_PAGE:
        return len(questions)
    return n_until + TURNS_A_PAGE // 2


def page_at(conversation_id: int, question_id: int | None, message_id: int | None = None) -> str:
    """The address of a conversation at one of its turns, whichever version and page it is on."""
    page = reverse("conversation", args=[conversation_id])
    if question_id is None and message_id is None:
        return page
    anchor = f"#turn-{question_id}" if question_id else ""
    return f"{page}?at={message_id or question_id}{anchor}"


def turn_of(run: Run) -> Turn:
    """The turn of one run, at the end of its conversation's path."""
    tree = Tree(run.conversation_id)
    path = [run.question_id, run.answer_id]
    return _turns(tree, path, [run.question_id], last=run.answer_id)[0]


def _turns(
    tree: Tree, path: Sequence[int], questions: Sequence[int], *, last: int | None
) -> list[Turn]:
    answers = {
        tree.nodes[pk].parent: pk for pk in path if tree.nodes[pk].role == Message.Role.ASSISTANT
    }
    wanted = [*questions, *(answers[pk] for pk in questions if pk in answers)]
    messages = Message.objects.in_bulk(wanted)
    runs = {
        run.answer_id: run
        for run in Run.objects.filter(answer__in=wanted).select_related("question", "answer")
    }
    rows = _Rows(list(runs.values()))
    turns = []
    for pk in questions:
        answer = messages.get(answers.get(pk, 0))
        turns.append(
            Turn(
                question=messages[pk],
                question_versions=tree.versions(pk),
                answer=answer,
                answer_versions=tree.versions(answer.pk) if answer else None,
                is_last=last in (pk, answer.pk if answer else None),
                **(rows.parts(runs[answer.pk]) if answer and answer.pk in runs else {}),
            )
        )
    return turns


class _Rows:
    """Sources, citations and steps of many runs, read in a fixed number of queries."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._sources: dict[int, list[Source]] = defaultdict(list)
        for source in Source.objects.filter(run__in=runs).defer("snapshot"):
            self._sources[source.run_id].append(source)
        self._events: dict[int, list[dict]] = defaultdict(list)
        running = [run.pk for run in runs if run.status == RunStatus.RUNNING]
        events = RunEvent.objects.filter(run__in=runs).order_by("run_id", "seq")
        for row in events.exclude(type__in=_TEXT_EVENTS) | events.filter(run__in=running):
            self._events[row.run_id].append(store.as_event(row))
        cited = Source.objects.filter(run__in=runs, citations__isnull=False)
        self._used = set(cited.values_list("pk", flat=True))
        self._unsupported: dict[int, list[Span]] = defaultdict(list)
        failed = Citation.objects.filter(answer__run__in=runs).exclude(problem="")
        for answer_id, start, end in failed.values_list("answer_id", "start", "end"):
            self._unsupported[answer_id].append(Span(start, end))

    def parts(self, run: Run) -> dict:
        sources, events = self._sources[run.pk], self._events[run.pk]
        if run.status == RunStatus.RUNNING:
            presenter = TurnPresenter(run.answer_id, run.pk)
            for event in events:
                presenter.hear(event)
            return {
                "run": run,
                "steps": presenter.steps,
                "html": presenter.html(),
                "others": sources,
                "seq": events[-1]["seq"] if events else 0,
            }
        return {
            "run": run,
            "steps": steps_of(events, over=True),
            "html": safe_answer(
                run.answer.text,
                sources,
                run.answer_id,
                unsupported=self._unsupported[run.answer_id],
            ),
            "used": [one for one in sources if one.pk in self._used],
            "others": [one for one in sources if one.pk not in self._used],
            "seq": run.last_seq,
        }


_TEXT_EVENTS = ("text_added", "citation_added")
