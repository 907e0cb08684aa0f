"""What is kept of a run when it ends: clean text, its citations, and what was odd about it."""

from __future__ import annotations

from collections.abc import Sequence

from chat import store
from chat.agent.events import (
    AgentEvent,
    CitationAdded,
    RunFinished,
    SentenceUnsupported,
    TextCorrected,
)
from chat.answer_text import AnswerText
from chat.citing import citations_of
from chat.models import Run
from chat.wiring import Prepared
from memory.service import clean_text


def ending_of(
    run: Run,
    answer: AnswerText,
    followups: Sequence[str],
    finished: RunFinished,
    prepared: Prepared | None,
) -> tuple[store.Ending, list[AgentEvent]]:
    """The ending of a run, and the last events that tell it."""
    clean = clean_text(answer.text)
    marks = answer.marks_in(clean)
    citations, n_strays = citations_of(clean, store.sources_of(run), marks)
    last: list[AgentEvent] = []
    if clean != answer.text:
        last.append(TextCorrected(clean))
        failed = dict.fromkeys((one.span, one.problem) for one in citations if one.problem)
        last += [SentenceUnsupported(span.start, span.end, why) for span, why in failed]
    last += [
        CitationAdded(one.number, one.span.start, one.span.end, one.passage) for one in citations
    ]
    last.append(finished)
    ending = store.Ending(
        status=finished.status,
        reason=finished.reason,
        text=clean,
        usage=finished.usage,
        n_steps=finished.n_steps,
        n_stray_markers=n_strays,
        followups=followups,
        receipt=prepared.receipt() if prepared else {},
        model_name=prepared.means.model.name if prepared else "",
        citations=citations,
        fail_count=answer.fail_count,
        last_error=answer.last_error,
    )
    return ending, last
