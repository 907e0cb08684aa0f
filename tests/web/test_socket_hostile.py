"""Messages of any shape: each gets an answer, none ends the socket or the server's order."""

from __future__ import annotations

import random
from typing import Any

import pytest

from chat.database import in_database
from chat.models import Conversation, Message, Run, RunEvent
from tests.servers.model_script import say
from tests.web.conftest import begun

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = [
    "text",
    "client_id",
    "conversation",
    "after",
    "edits",
    "regenerates",
    "continues",
    "time_zone",
    "run",
    "runs",
    "newest",
]
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1,
    2,
    3,
    2**63,
    10**30,
    1.5,
    "",
    "1",
    "x",
    "Why?",
    "\x00\ud83d",
    "\u202e" * 50,
    "<!--SOURCES:[{",
    "<script>",
    "../../etc/passwd",
    "' OR 1=1 --",
    [],
    [1],
    {},
    {"1": 1},
    {"1": {"2": []}},
    "a" * 5_000,
]


def any_message(chance: random.Random) -> dict[str, Any]:
    kind = chance.choice(["ask", "ask", "ask", "stop", "watch", "watch", "other", 7, None])
    fields = chance.sample(FIELDS, chance.randint(0, len(FIELDS)))
    return {"type": kind} | {name: chance.choice(VALUES) for name in fields}


@pytest.mark.parametrize("seed", range(4))
async def test_any_message_gets_an_answer_and_nothing_of_others_changes(
    page_of, alice, charlie, model, seed: int
) -> None:
    others = await in_database(begun)(alice, "A secret question?")
    model([{"when": ".", "reply": say("Fine.")}])
    page = await page_of(charlie)
    chance = random.Random(seed)
    for _ in range(120):
        await page.send(any_message(chance))
    await page.send({"type": "ask", "text": "The last one?", "client_id": "last"})
    heard: list[dict[str, Any]] = []
    while not any(m.get("client_id") == "last" and m["type"] == "accepted" for m in heard):
        heard.append(await page.receive())
    assert "secret" not in str(heard)
    assert await in_database(Run.objects.filter(owner=alice).count)() == 1
    assert not (await in_database(Run.objects.get)(pk=others.pk)).stop_requested
    await in_database(_nothing_is_broken)()


def _nothing_is_broken() -> None:
    for run in Run.objects.exclude(status="running"):
        seqs = list(RunEvent.objects.filter(run=run).values_list("seq", flat=True))
        assert seqs == list(range(1, run.last_seq + 1))
    for message in Message.objects.select_related("parent"):
        assert message.parent is None or message.parent.conversation_id == message.conversation_id
    for conversation in Conversation.objects.select_related("head"):
        assert conversation.head is None or conversation.head.conversation_id == conversation.pk
