"""What comes back of a long conversation, and where it stands in the prompt."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from chat.database import in_database
from chat.importing import import_conversation
from chat.library import ensure_sample_library
from chat.models import Citation, Conversation, Message, Run, Source
from memory.service import count_tokens, summarise
from memory.summary_models import Summary
from tests.servers.model_script import call, fail, say

pytestmark = pytest.mark.django_db(transaction=True)

N_BETWEEN = 580
client_ids = count(1)


@pytest.fixture(autouse=True)
async def library(transactional_db: Any) -> None:
    await in_database(ensure_sample_library)()


def chatter(n: int) -> list[dict[str, str]]:
    """Talk about nothing that is asked for later; every fifth message is longer."""
    return [
        {
            "role": "user" if at % 2 == 0 else "assistant",
            "content": f"The weather on day {at} was {'grey and dull ' * (1 + at % 5)}."
            if at % 2
            else f"How was the weather on day {at}?",
        }
        for at in range(n)
    ]


def go_on(conversation: Conversation, messages: list[dict[str, str]]) -> None:
    """More talk at the head, as if it had been asked and answered turn by turn."""
    now = timezone.now()
    for at, told in enumerate(messages):
        row = Message.objects.create(
            conversation=conversation,
            parent_id=conversation.head_id,
            role=told["role"],
            text=told["content"],
            model_text=told["content"],
            created_at=now + timedelta(milliseconds=at),
        )
        conversation.head = row
    conversation.save()


async def ask(page: Any, text: str, conversation: int | None = None) -> Run:
    more = {"conversation": conversation} if conversation else {}
    await page.ask(text, client_id=f"c-{next(client_ids)}", **more)
    runs = Run.objects.select_related("answer", "conversation")
    return await in_database(lambda: runs.latest("pk"))()


def prompt(server: Any, index: int = -1) -> list[str]:
    return [str(message["content"]) for message in server.requests[index].body["messages"]]


def recalled(text: str) -> dict[str, Any]:
    """The JSON of the older lines, which begins the message that holds the question."""
    found, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    return found


async def test_evidence_of_turn_two_is_cited_truly_three_hundred_turns_later(
    page_of, alice, model
) -> None:
    server = model(
        [
            say("Noted: the boiler code is 4711."),
            call("search_library", query="why does ice float"),
            say("Ice is less dense than liquid water [1]."),
            say("Ice floats because it is less dense [1], and your boiler code is 4711."),
        ]
    )
    page = await page_of(alice)
    first = await ask(page, "My boiler code is 4711.")
    conversation = first.conversation
    await ask(page, "Why does ice float?", conversation.pk)
    await in_database(conversation.refresh_from_db)()
    await in_database(go_on)(conversation, chatter(N_BETWEEN))
    question = "What did you find out about why ice floats, and what is my boiler code?"
    run = await ask(page, question, conversation.pk)
    told = recalled(prompt(server)[-1])
    said = [line for one in told["earlier"] for line in one["text"].splitlines()]
    assert "My boiler code is 4711." in said
    assert [one["number"] for one in told["sources"]] == list(range(1, len(told["sources"]) + 1))
    citation = await in_database(
        lambda: Citation.objects.select_related("source", "passage__source").get(answer=run.answer)
    )()
    assert citation.source.run_id == run.pk
    assert citation.source.recalled
    before = await in_database(
        lambda: Source.objects.exclude(run=run).filter(url=citation.source.url).get()
    )()
    passage = await in_database(lambda: citation.passage.text)()
    assert all(line in before.snapshot for line in passage.splitlines())
    assert "less dense" in passage


async def test_the_prompt_never_costs_more_than_the_budget_for_history(
    page_of, alice, model, settings
) -> None:
    server = model([say("Fine.")] * 3)
    conversation = await in_database(import_conversation)(alice, chatter(300))
    page = await page_of(alice)
    for budget in (300, 1_500, 6_000):
        settings.LUMINA_HISTORY_TOKENS = budget
        run = await ask(page, "How was the weather on day 12?", conversation.pk)
        body = server.requests[-1].body["messages"]
        history = [str(m["content"]) for m in body[1:]]
        # The date line and the question stand at the end of the last message.
        tail = history[-1].rindex("Now it is")
        history[-1] = history[-1][:tail]
        assert sum(count_tokens(text) for text in history) <= budget
        assert run.receipt["budget_tokens"] == budget


async def test_each_prompt_begins_with_the_one_before_while_the_window_stands(
    page_of, alice, model, settings
) -> None:
    settings.LUMINA_HISTORY_TOKENS = 1_200
    server = model([say(f"Answer {at}: {'grey ' * 40}.") for at in range(40)])
    page = await page_of(alice)
    run = await ask(page, "Question 0?")
    starts = []
    for at in range(1, 30):
        run = await ask(page, f"Question {at}?", run.conversation_id)
        starts.append(run.receipt["window_from"])
    kept = 0
    for at in range(2, 30):
        if starts[at - 1] == starts[at - 2]:
            before = server.requests[at - 1].body["messages"]
            now = server.requests[at].body["messages"]
            # All but the last message of the turn before, which held its question.
            assert now[: len(before) - 1] == before[:-1]
            kept += 1
    assert kept >= 20
    assert len(set(starts)) >= 2


async def test_the_receipt_names_places_and_holds_no_text(page_of, alice, model) -> None:
    model([say("Noted."), say("4711.")])
    page = await page_of(alice)
    run = await ask(page, "My boiler code is 4711.")
    run = await ask(page, "What is my boiler code?", run.conversation_id)
    assert "4711" not in json.dumps(run.receipt)
    assert run.receipt["visible"] == run.receipt["total"] == 2


async def test_a_model_that_refuses_for_length_is_packed_again_smaller(
    page_of, alice, model
) -> None:
    refusal = fail(400, '{"error": {"code": "context_length_exceeded", "message": "too long"}}')
    server = model([refusal, say("Fine.")])
    conversation = await in_database(import_conversation)(alice, chatter(60))
    page = await page_of(alice)
    run = await ask(page, "How was the weather on day 12?", conversation.pk)
    assert run.status == "complete"
    assert run.receipt["packed_again"] == 1
    assert sum(map(len, prompt(server, 1))) < sum(map(len, prompt(server, 0)))


async def test_another_version_of_a_question_is_not_recalled(page_of, alice, model) -> None:
    server = model([say("Noted one."), say("Noted two."), say("Yes.")])
    page = await page_of(alice)
    run = await ask(page, "The code of the door is ALPHA-1.")
    question = await in_database(lambda: run.question_id)()
    await page.ask("The code of the door is BETA-2.", client_id="edit", edits=question)
    await ask(page, "What is the code of the door?", run.conversation_id)
    whole = " ".join(prompt(server))
    assert "BETA-2" in whole
    assert "ALPHA-1" not in whole


async def test_nothing_of_another_person_is_recalled(page_of, alice, charlie, model) -> None:
    server = model([say("Noted."), say("I do not know.")])
    page = await page_of(alice)
    await ask(page, "My boiler code is 4711.")
    other = await page_of(charlie)
    await ask(other, "What is my boiler code?")
    assert "4711" not in " ".join(prompt(server))


async def test_the_budget_follows_what_the_server_says_its_model_can_read(
    page_of, alice, model
) -> None:
    model([say("Fine.")], listed={"max_model_len": 4_000})
    page = await page_of(alice)
    run = await ask(page, "Why?")
    assert run.receipt["budget_tokens"] == 2_000 - count_tokens("Why?")


async def test_what_has_left_the_window_is_summarised_before_the_newest_messages(
    page_of, alice, model, settings
) -> None:
    settings.LUMINA_HISTORY_TOKENS = 1_500
    server = model([say("Fine."), say("- They spoke of the weather [3]."), say("Fine.")])
    conversation = await in_database(import_conversation)(alice, chatter(120))
    page = await page_of(alice)
    run = await ask(page, "How was the weather on day 12?", conversation.pk)
    assert run.receipt["summaries"] == []
    for wanted in await in_database(lambda: list(Summary.objects.values_list("pk", flat=True)))():
        await in_database(summarise)(wanted)
    run = await ask(page, "And on day 13?", conversation.pk)
    told = recalled(prompt(server)[1])
    assert told["summaries"][0]["text"]
    assert "[3]" not in json.dumps(told)
    assert sum(one["messages"] for one in told["summaries"]) + run.receipt["visible"] <= 122
    assert run.receipt["summaries"][0]["tokens"] <= 1_500
