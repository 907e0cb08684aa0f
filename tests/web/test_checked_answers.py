"""Answers that are checked: on the socket, after a reload, in the store and in the terminal."""

from __future__ import annotations

import asyncio
import json
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chat.answers import answer_json
from chat.database import in_database
from chat.library import ensure_sample_library
from chat.models import Citation, Run, RunEvent
from chat.working import working_of
from tests.servers.model_script import call, say
from tests.web.conftest import until

pytestmark = pytest.mark.django_db(transaction=True)

SEARCH = call("search_library", query="moons of Saturn")
QUESTION = "How many moons does Saturn have?"
FALSE = "Saturn has 999 known moons."
TRUE = "Saturn has 274 known moons."


@pytest.fixture(autouse=True)
def _checked(settings: Any, transactional_db: Any) -> None:
    settings.LUMINA_CHECK_ANSWERS = True
    ensure_sample_library()


def number_in(body: dict[str, Any]) -> int:
    """The number that the search gave to the article that holds the true count."""
    for message in reversed(body["messages"]):
        if "The moons of Saturn (2025)" in str(message["content"]):
            told = json.loads(message["content"])
            rows = told.get("sources") or told["chunks"]
            return next(row["number"] for row in rows if "2025" in row["title"])
    raise AssertionError("The model was not told of the article.")


def writes(text: str) -> Any:
    """A reply that cites the article by whatever number it has."""
    return lambda body: say(text.replace("[n]", f"[{number_in(body)}]"), pieces=3)


async def last_run() -> Run:
    rows = Run.objects.select_related("question", "answer", "owner").order_by("-pk")
    return await in_database(lambda: rows[0])()


async def told() -> dict[str, Any]:
    return await in_database(answer_json)(await last_run())


def page_html(user: Any, run: Run, browser_of: Any) -> str:
    page = browser_of(user).get(f"/c/{run.conversation_id}/").content.decode()
    found = re.search(rf'id="answer-{run.answer_id}"[^>]*>(.*?)</div>\s*<section', page, re.DOTALL)
    assert found
    return found[1].strip()


def played(heard: list[dict[str, Any]]) -> str:
    """What the puts of a socket make of the answer."""
    blocks: dict[int, str] = {}
    for message in heard:
        for put in message.get("puts", []):
            if put[0] == "text":
                blocks[put[1]] = blocks.get(put[1], "") + put[2]
            elif put[0] == "block":
                blocks[put[1]] = put[2]
            elif put[0] == "blocks":
                blocks = {number: html for number, html in blocks.items() if number < put[1]}
    return "".join(html for _, html in sorted(blocks.items())).strip()


async def test_a_false_sentence_is_replaced_on_the_page_and_in_the_store(
    page_of: Any, alice: Any, model: Any, browser_of: Any
) -> None:
    server = model(
        [SEARCH, writes(f"{FALSE[:-1]} [n]. Titan is one of them [n]."), writes(f"{TRUE} [n]")]
    )
    page = await page_of(alice)
    heard = await page.ask(QUESTION)
    run = await last_run()
    assert (run.status, run.fail_count) == ("complete", 1)
    assert run.answer.text.startswith(TRUE)
    assert "999" not in run.answer.text + run.answer.model_text
    assert "“999”" in run.last_error
    answer = await told()
    assert answer["unsupported"] == []
    assert [one["claim"][:10] for one in answer["citations"]] == ["Saturn has", "Titan is o"]
    assert all(one["passage"] for one in answer["citations"])
    shown = await in_database(page_html)(alice, run, browser_of)
    assert played(heard) == shown
    assert "274" in shown
    repair = server.requests[-1].body
    assert "tools" not in repair
    assert [message["role"] for message in repair["messages"]] == ["system", "user"]


async def test_what_fails_twice_is_shown_as_unsupported_wherever_the_answer_is_shown(
    page_of: Any, alice: Any, model: Any, browser_of: Any
) -> None:
    model(
        [
            SEARCH,
            writes(f"It is large. {FALSE} [n]\n\nTitan is one [n]."),
            writes("It has 998 moons [n]."),
        ]
    )
    page = await page_of(alice)
    heard = await page.ask(QUESTION)
    run = await last_run()
    assert (run.status, run.fail_count) == ("complete", 2)
    shown = await in_database(page_html)(alice, run, browser_of)
    assert played(heard) == shown
    assert shown.count('class="unsupported"') == 1
    assert "not supported by its source" in shown
    answer = await told()
    assert [one["claim"][:26] for one in answer["unsupported"]] == ["Saturn has 999 known moons"]
    assert answer["unsupported"][0]["problem"] == "“999” is not there"
    assert "1 not supported" in json.dumps(heard, ensure_ascii=False)


async def test_a_page_that_is_loaded_in_the_middle_of_a_repair_shows_the_rest(
    page_of: Any, alice: Any, model: Any, browser_of: Any
) -> None:
    waits = [{"text": ""}, {"pause": 0.5}]
    model([SEARCH, writes(f"{FALSE} [n]"), lambda body: [*waits, *writes(f"{TRUE} [n]")(body)]])
    first = await page_of(alice)
    await first.send({"type": "ask", "text": QUESTION, "client_id": "c-1"})
    conversation = (await first.until("accepted"))[-1]["conversation"]
    await first.until("sentence_failed")
    second = await page_of(alice)
    run = await last_run()
    middle = await in_database(page_html)(alice, run, browser_of)
    assert "999" in middle
    assert 'class="citation"' in middle
    await second.send({"type": "watch", "conversation": conversation, "runs": {run.pk: 0}})
    heard = await second.until("run_finished")
    shown = await in_database(page_html)(alice, run, browser_of)
    assert played(heard) == shown
    assert "274" in shown


async def test_stop_in_a_repair_leaves_the_answer_whole_and_says_what_is_unsupported(
    page_of: Any, alice: Any, model: Any
) -> None:
    server = model([SEARCH, writes(f"{FALSE} [n]"), [{"headers": {}}, {"hang": True}]])
    page = await page_of(alice)
    await page.send({"type": "ask", "text": QUESTION, "client_id": "c-1"})
    run = (await page.until("accepted"))[-1]["run"]
    await page.until("sentence_failed")
    await until(lambda: len(server.requests) == 3)
    await page.send({"type": "stop", "run": run})
    async with asyncio.timeout(3):
        assert (await page.until("run_finished"))[-1]["status"] == "complete"
    answer = await told()
    assert answer["answer"].startswith(FALSE)
    assert len(answer["unsupported"]) == 1
    await until(lambda: server.requests[-1].left_at)


async def test_a_text_that_is_cleaned_at_its_end_keeps_its_marks(
    page_of: Any, alice: Any, model: Any, browser_of: Any
) -> None:
    """Cleaning moves what follows: the mark must move along, and be counted once."""
    odd = "Well.\u200b\u200b <!--SOURCES:[]--> "
    model([SEARCH, writes(f"{odd}{FALSE} [n]"), writes("It has 998 moons [n].")])
    page = await page_of(alice)
    heard = await page.ask(QUESTION)
    run = await last_run()
    assert "text_corrected" in [message["type"] for message in heard]
    (failed,) = await in_database(lambda: list(Citation.objects.exclude(problem="")))()
    assert run.answer.text[failed.start : failed.end].startswith(FALSE)
    shown = await in_database(page_html)(alice, run, browser_of)
    assert shown.count('class="unsupported"') == 1
    assert played(heard) == shown
    assert "2 not supported" not in json.dumps(heard, ensure_ascii=False)


async def test_an_answer_that_passes_costs_no_call_and_no_event(
    page_of: Any, alice: Any, model: Any
) -> None:
    server = model([SEARCH, writes(f"{TRUE} [n]")])
    page = await page_of(alice)
    await page.ask(QUESTION)
    assert len(server.requests) == 2
    kinds = await in_database(lambda: set(RunEvent.objects.values_list("type", flat=True)))()
    assert not {kind for kind in kinds if kind.startswith("sentence_")}


async def test_without_the_switch_nothing_is_checked(
    page_of: Any, alice: Any, model: Any, settings: Any
) -> None:
    settings.LUMINA_CHECK_ANSWERS = False
    model([SEARCH, writes(f"{FALSE} [n]")])
    page = await page_of(alice)
    await page.ask(QUESTION)
    assert (await told())["unsupported"] == []
    assert (await last_run()).fail_count == 0


async def test_the_built_in_answerer_quotes_what_passes(page_of: Any, alice: Any) -> None:
    page = await page_of(alice)
    await page.ask(QUESTION)
    answer = await told()
    assert answer["model"] == "Built-in answerer"
    assert answer["citations"]
    assert answer["unsupported"] == []


# --- Working memory -----------------------------------------------------------------------------


async def test_two_questions_in_a_row_share_no_chunk_and_no_failure(
    page_of: Any, alice: Any, model: Any
) -> None:
    model(
        [
            SEARCH,
            writes(f"{FALSE} [n]"),
            writes("It has 998 moons [n]."),
            call("search_library", query="knitting needles crochet"),
            say("Crochet uses a hook."),
        ]
    )
    page = await page_of(alice)
    heard = await page.ask(QUESTION)
    first = await in_database(working_of)(await last_run())
    await page.ask("What does crochet use?", client_id="c-2", conversation=heard[0]["conversation"])
    second = await in_database(working_of)(await last_run())
    assert (first.fail_count, bool(first.last_error)) == (2, True)
    assert (second.fail_count, second.last_error) == (0, "")
    assert (first.job, second.job) == (QUESTION, "What does crochet use?")
    assert second.draft == "Crochet uses a hook."
    titles = [{chunk.title for chunk in memory.chunks} for memory in (first, second)]
    assert "The moons of Saturn (2025)" in titles[0]
    assert any("nitting" in title for title in titles[1])
    assert not {chunk.text for chunk in first.chunks} & {chunk.text for chunk in second.chunks}


async def test_it_can_be_printed_for_a_conversation_and_for_a_run(
    page_of: Any, alice: Any, model: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("chat.management.commands.working.the_owner", lambda: alice)
    model([SEARCH, writes(f"{TRUE} [n]")])
    page = await page_of(alice)
    await page.ask(QUESTION)
    run = await last_run()
    for arguments in ([str(run.conversation_id)], ["--run", str(run.pk)], []):
        printed = StringIO()
        await in_database(call_command)("working", *arguments, stdout=printed)
        fields = json.loads(printed.getvalue())
        assert list(fields) == ["job", "chunks", "draft", "fail_count", "last_error"]
        assert fields["job"] == QUESTION
        assert list(fields["chunks"][0]) == ["title", "text"]
    with pytest.raises(CommandError):
        await in_database(call_command)("working", "--run", "99999")


async def test_a_secret_is_in_none_of_its_fields(page_of: Any, alice: Any, model: Any) -> None:
    model([SEARCH, say("my password is hunter2\nSo you said.")])
    page = await page_of(alice)
    await page.ask("my password is hunter2\nWhat is it?")
    memory = await in_database(working_of)(await last_run())
    assert "hunter2" not in json.dumps(memory.fields())
    assert (memory.job, memory.draft) == ("What is it?", "So you said.")


async def test_it_goes_with_the_conversation_that_is_deleted(
    page_of: Any, alice: Any, model: Any, browser_of: Any
) -> None:
    model([SEARCH, writes(f"{FALSE} [n]"), writes("It has 998 moons [n].")])
    page = await page_of(alice)
    await page.ask(QUESTION)
    run = await last_run()

    def delete() -> tuple[int, int]:
        browser = browser_of(alice)
        before = browser.get(f"/runs/{run.pk}/working/").status_code
        browser.post(f"/c/{run.conversation_id}/delete/")
        return before, browser.get(f"/runs/{run.pk}/working/").status_code

    assert await in_database(delete)() == (200, 404)
    assert await in_database(RunEvent.objects.count)() == 0


async def test_a_stranger_reads_nobodys_working_notes(
    page_of: Any, alice: Any, charlie: Any, model: Any, browser_of: Any
) -> None:
    model([SEARCH, writes(f"{TRUE} [n]")])
    page = await page_of(alice)
    await page.ask(QUESTION)
    run = await last_run()
    own, others = await in_database(
        lambda: [browser_of(user).get(f"/runs/{run.pk}/working/") for user in (alice, charlie)]
    )()
    assert QUESTION in own.content.decode()
    assert others.status_code == 404
