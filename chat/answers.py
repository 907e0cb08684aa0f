"""One turn as a program reads it."""

from __future__ import annotations

from typing import Any

from chat.models import Citation, Run, Source
from chat.steps import steps_of
from chat.store import read_events


def answer_json(run: Run) -> dict[str, Any]:
    """The turn of a run: `answer` has its markers, `citations` say where each one leads."""
    steps = steps_of(read_events(run.pk), over=True)
    return {
        "conversation": run.conversation_id,
        "message": run.answer_id,
        "run": run.pk,
        "status": run.status,
        "reason": run.reason,
        "model": run.model_name,
        "answer": run.answer.text,
        "sources": [_source(row) for row in run.sources.prefetch_related("passages")],
        "unsupported": _unsupported(run),
        "citations": [
            _citation(row, run.answer.text)
            for row in run.answer.citations.select_related("source", "passage__source")
        ],
        "steps": [
            {
                "tool": step.tool,
                "subject": step.subject,
                "state": step.state,
                "results": step.n_results,
                "seconds": step.seconds,
                "provider": step.provider,
                "passed_over": [
                    {"provider": name, "reason": why} for name, why in step.passed_over
                ],
                "error": step.error,
                "said": step.said,
            }
            for step in steps.items
        ],
        "followups": run.followups,
        "usage": {
            "prompt_tokens": run.prompt_tokens,
            "completion_tokens": run.completion_tokens,
            "steps": run.n_steps,
        },
        "receipt": run.receipt,
    }


def _unsupported(run: Run) -> list[dict[str, Any]]:
    """The cited sentences that failed their check, each once."""
    failed = run.answer.citations.exclude(problem="").order_by("start")
    spans = dict.fromkeys(failed.values_list("start", "end", "problem"))
    return [
        {"start": start, "end": end, "claim": run.answer.text[start:end], "problem": problem}
        for start, end, problem in spans
    ]


def _source(row: Source) -> dict[str, Any]:
    return {
        "number": row.number,
        "title": row.title,
        "url": row.url,
        "domain": row.domain,
        "passages": [row.snapshot[one.start : one.end] for one in row.passages.all()],
    }


def _citation(row: Citation, answer: str) -> dict[str, Any]:
    return {
        "number": row.source.number,
        "start": row.start,
        "end": row.end,
        "claim": answer[row.start : row.end],
        "passage": row.passage.text if row.passage else None,
    }
