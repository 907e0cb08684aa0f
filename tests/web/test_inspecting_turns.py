"""What a real turn leaves in its receipt, and when."""

from __future__ import annotations

from typing import Any

import pytest

from chat.database import in_database
from chat.inspecting.turn import seen_turn
from chat.models import Run, User
from memory import store as memory_store
from memory.store import By
from tests.servers.model_script import fail, say
from tests.web.conftest import until

pytestmark = pytest.mark.django_db(transaction=True)


def newest_run() -> Run:
    return Run.objects.select_related("owner", "conversation", "question").latest("pk")


async def test_what_was_packed_can_be_looked_at_before_the_answer_ends(
    page_of: Any, alice: User, model: Any
) -> None:
    model([say("Ice floats."), [{"hang": True}]])
    page = await page_of(alice)
    await page.ask("Why does ice float?")
    first = await in_database(newest_run)()
    again = {"conversation": first.conversation_id, "client_id": "c-2"}
    await page.send({"type": "ask", "text": "And iron?", **again})

    async def is_packed() -> bool:
        run = await in_database(newest_run)()
        return run.pk != first.pk and bool(run.receipt)

    await until(is_packed)
    run = await in_database(newest_run)()
    assert run.status == "running"
    assert [one["message"] for one in run.receipt["window"]] == [first.question_id, first.answer_id]


async def test_a_turn_that_failed_still_says_what_was_sent(
    page_of: Any, alice: User, model: Any
) -> None:
    model([fail(400, "No such model.")])
    page = await page_of(alice)
    await page.ask("Why does ice float?")
    run = await in_database(newest_run)()
    assert run.status == "failed"
    assert run.receipt["total"] == 0


async def test_the_receipt_names_the_memory_files_that_were_read_by_their_ids(
    page_of: Any, alice: User, model: Any
) -> None:
    def remember() -> None:
        memory_store.put(alice.pk, "knowledge/user.md", "- Name: Ana", By())
        text = "---\ntrigger: iron\n---\n# Metals\n\n- Speak of density"
        memory_store.put(alice.pk, "skills/metals.md", text, By())
        memory_store.put(alice.pk, "knowledge/boat.md", "- Leaks", By())

    model([say("Ice floats."), say("Iron sinks.")])
    await in_database(remember)()
    page = await page_of(alice)
    await page.ask("Why does ice float?")
    first = await in_database(newest_run)()
    await page.ask("And iron?", conversation=first.conversation_id, client_id="c-2")
    run = await in_database(newest_run)()
    files = {one.path: one for one in await in_database(lambda: seen_turn(run).files)()}
    assert set(files) == {"knowledge/user.md", "skills/metals.md"}
    assert files["skills/metals.md"].is_skill
    assert not files["knowledge/user.md"].is_skill
    assert files["knowledge/user.md"].n_tokens > 0
    assert not files["knowledge/user.md"].changed_since
    assert "Ana" not in str(run.receipt)
    assert "user.md" not in str(run.receipt)
