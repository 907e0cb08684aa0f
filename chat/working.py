"""The working memory of a run, put together from its rows: nothing of it is stored twice, so what
is deleted is gone from here too."""

from __future__ import annotations

from dataclasses import replace

from chat.agent.working import WorkingMemory, found_for, working_memory
from chat.models import Run
from chat.store import sources_of
from memory.service import without_secrets


def working_of(run: Run) -> WorkingMemory:
    """The five fields as the run left them; that of a conversation is its newest run's."""
    cited = set(run.answer.citations.values_list("source__number", flat=True))
    sources = found_for(sources_of(run), cited)
    memory = working_memory(run.question.text, sources, run.answer.text, screen=without_secrets)
    return replace(memory, fail_count=run.fail_count, last_error=run.last_error)
