"""Summaries in the database: wished for, made, failed and tried again, and gone with a message."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db.models import Max
from django.utils import timezone

from chat import tree
from chat.importing import import_conversation
from chat.models import Conversation, Message, User
from memory import summary_store
from memory.engine import Message as Said
from memory.later import send
from memory.models import Summarised, Summary
from memory.service import left_window, recall, summaries, summaries_of, summarise
from memory.summary_making import made
from memory.summary_ports import means
from memory.tasks_summaries import find_unsummarised, summarise_span
from tests.core.memory.long_talk import long_talk
from tests.servers.model_script import fail, say

pytestmark = pytest.mark.django_db

SECRET = "Xanthippe7531"
FACTS = (
    "My colleague Ingrid owns the billing part.",
    "We pay 310 euros a month for the hosting.",
    "Let's go with PostgreSQL for the archive.",
    "Backups go to the vault in Reykjavik.",
)


def talk(owner: User, n_messages: int, facts: Sequence[str] = FACTS) -> Conversation:
    """A conversation whose questions tell facts, one after the other."""
    told: list[dict[str, str]] = []
    for n in range(n_messages):
        fact = facts[n // 2] if n % 2 == 0 and n // 2 < len(facts) else ""
        text = f"{fact} How tall is tower number {n}?" if n % 2 == 0 else _answer(n)
        told.append({"role": "user" if n % 2 == 0 else "assistant", "content": text.strip()})
    return import_conversation(owner, told)


def _answer(n: int) -> str:
    return f"Tower number {n} has a height of {100 + n} metres. " + (
        "Its architect wanted it to be seen from the harbour, the castle and the old bridge. "
        "It was built of granite that came by ship, and it took eleven years to finish it."
    )


def path_of(conversation: Conversation) -> list[int]:
    return tree.path_ids(conversation.pk, conversation.head_id)


def leave(conversation: Conversation, n_left: int) -> list[int]:
    """The first messages leave the window; the ids of the summaries that are wished for."""
    path = path_of(conversation)
    left_window(
        conversation.owner_id, conversation.pk, conversation.head_id, before_id=path[n_left]
    )
    rows = Summary.objects.filter(conversation=conversation).exclude(status="made")
    return list(rows.values_list("pk", flat=True))


def make(conversation: Conversation, n_left: int) -> None:
    for summary_id in leave(conversation, n_left):
        summarise(summary_id)


def shown(conversation: Conversation, n_left: int, budget: int = 2_000, **other: Any) -> str:
    path = path_of(conversation)
    values = {
        "owner_id": conversation.owner_id,
        "conversation_id": conversation.pk,
        "head_id": conversation.head_id,
    }
    found = summaries(**(values | other), before_id=path[n_left], budget_tokens=budget)
    return "\n".join(one.text for one in found)


def wait_over() -> None:
    """The time to try again has come."""
    Summary.objects.exclude(status="made").update(next_try_at=timezone.now())


# --- Without a model ----------------------------------------------------------------------------


def test_what_left_the_window_is_quoted_without_a_model(alice: User) -> None:
    conversation = talk(alice, 30)
    make(conversation, 10)
    text = shown(conversation, 10)
    for fact in FACTS:
        assert f"user: {fact}" in text
    kept = summaries_of(alice.pk, conversation.pk)
    assert [(one.status, one.n_messages, one.model_name, one.error) for one in kept] == [
        ("made", 8, "", ""),
        ("made", 2, "", ""),
    ]
    path = path_of(conversation)
    assert [(one.first_id, one.last_id) for one in kept] == [
        (path[0], path[7]),
        (path[8], path[9]),
    ]
    first = Message.objects.get(pk=path[0])
    assert kept[0].first_at == first.created_at


def test_a_growing_talk_keeps_few_summaries_and_each_word_of_them_from_the_originals(
    alice: User,
) -> None:
    conversation = talk(alice, 80)
    for n_left in range(2, 62, 2):
        make(conversation, n_left)
        assert all(fact in shown(conversation, n_left) for fact in FACTS[: n_left // 2])
    kept = summaries_of(alice.pk, conversation.pk)
    assert [one.n_messages for one in kept] == [32, 16, 8, 4]
    Summary.objects.update(text="- user: Nobody said this.")
    make(conversation, 64)
    assert [one.n_messages for one in summaries_of(alice.pk, conversation.pk)] == [64]
    assert "Nobody said this" not in shown(conversation, 64)
    assert FACTS[0] in shown(conversation, 64)


def test_narrow_summaries_are_shown_until_the_wide_one_is_there(alice: User) -> None:
    conversation = talk(alice, 30)
    make(conversation, 6)
    (wide,) = leave(conversation, 8)
    assert FACTS[0] in shown(conversation, 8)
    summarise(wide)
    assert [one.n_messages for one in summaries_of(alice.pk, conversation.pk)] == [8]


def test_saying_it_twice_or_in_any_order_changes_nothing(alice: User) -> None:
    conversation = talk(alice, 30)
    for n_left in (4, 10, 10):
        leave(conversation, n_left)
    ids = list(Summary.objects.values_list("pk", flat=True))
    for summary_id in [*reversed(ids), *ids]:
        summarise(summary_id)
    before = list(Summary.objects.values())
    make(conversation, 10)
    summarise(10_000_000)
    assert list(Summary.objects.values()) == before
    assert len(before) == 2


def test_summaries_stay_within_the_budget_and_out_of_the_window(alice: User) -> None:
    conversation = talk(alice, 60)
    make(conversation, 40)
    path = path_of(conversation)
    for budget in (0, 40, 120, 300, 2_000):
        found = summaries(
            alice.pk, conversation.pk, path[-1], before_id=path[40], budget_tokens=budget
        )
        assert sum(one.n_tokens for one in found) <= budget
        assert [path.index(one.first_id) for one in found] == sorted(
            path.index(one.first_id) for one in found
        )
    assert not any(one.is_cut for one in found)
    inside = summaries(alice.pk, conversation.pk, path[-1], before_id=path[36], budget_tokens=2_000)
    assert [path.index(one.last_id) for one in inside] == [31]


def test_a_private_word_never_comes_into_a_summary(alice: User) -> None:
    facts = ("My password is hunter2-otter. My sister Ana lives in Porto.",)
    conversation = talk(alice, 30, facts)
    make(conversation, 8)
    assert "Ana lives in Porto" in shown(conversation, 8)
    assert "hunter2" not in repr(list(Summary.objects.values()))


def test_off_means_off(alice: User, settings: Any) -> None:
    conversation = talk(alice, 30)
    make(conversation, 8)
    settings.LUMINA_SUMMARY_SPANS = 0
    assert shown(conversation, 8) == ""
    assert leave(conversation, 16) == []


# --- Whose, and on which path -------------------------------------------------------------------


def test_a_stranger_neither_reads_nor_wishes(alice: User, charlie: User) -> None:
    conversation = talk(alice, 30)
    make(conversation, 8)
    n_rows = Summary.objects.count()
    path = path_of(conversation)
    left_window(charlie.pk, conversation.pk, path[-1], before_id=path[16])
    assert Summary.objects.count() == n_rows
    assert shown(conversation, 8, owner_id=charlie.pk) == ""
    assert summaries_of(charlie.pk, conversation.pk) == []
    other = talk(charlie, 30)
    assert shown(other, 8, conversation_id=conversation.pk) == ""


def test_a_branch_sees_what_it_shares_and_nothing_of_the_other(alice: User) -> None:
    conversation = talk(alice, 40)
    make(conversation, 4)
    path = path_of(conversation)
    fork = Message.objects.create(
        conversation=conversation,
        parent_id=path[3],
        role="user",
        text="Another question?",
        model_text="Another question?",
        created_at=timezone.now(),
    )
    make(conversation, 7)  # four messages that both have, and three that only the old one has
    found = summaries(alice.pk, conversation.pk, fork.pk, before_id=None, budget_tokens=2_000)
    assert [(one.first_id, one.last_id) for one in found] == [(path[0], path[3])]
    left_window(alice.pk, conversation.pk, fork.pk, before_id=path[20])
    assert Summary.objects.filter(status="wanted").count() == 0


# --- Deleting -----------------------------------------------------------------------------------


def lift_out(message_id: int) -> None:
    """Deletes one message and hands its children to its parent."""
    message = Message.objects.get(pk=message_id)
    Message.objects.filter(parent=message).update(parent=message.parent)
    message.delete()


@pytest.mark.parametrize("place", [0, 2, 6])
def test_a_deleted_message_leaves_its_summary_at_once_and_it_is_made_again(
    alice: User, place: int
) -> None:
    facts = list(FACTS)
    facts[place // 2] = f"My sister is called {SECRET}."
    conversation = talk(alice, 30, facts)
    path = path_of(conversation)
    make(conversation, 8)
    assert SECRET in shown(conversation, 8)
    lift_out(path[place])
    assert SECRET not in everything()
    assert [one.status for one in summaries_of(alice.pk, conversation.pk)] == ["wanted"]
    find_unsummarised()
    (summary_id,) = Summary.objects.values_list("pk", flat=True)
    summarise(summary_id)
    (kept,) = summaries_of(alice.pk, conversation.pk)
    assert (kept.status, kept.n_messages) == ("made", 7)
    assert sum(fact in shown(conversation, 7) for fact in FACTS) == 3
    assert SECRET not in everything()


def test_a_message_that_goes_with_all_after_it_leaves_nothing_behind(alice: User) -> None:
    conversation = talk(alice, 30, [*FACTS[:2], f"My sister is called {SECRET}."])
    make(conversation, 8)
    path = path_of(conversation)
    Message.objects.get(pk=path[4]).delete()
    assert SECRET not in everything()
    (summary_id,) = Summary.objects.values_list("pk", flat=True)
    summarise(summary_id)
    (kept,) = summaries_of(alice.pk, conversation.pk)
    assert (kept.last_id, kept.n_messages) == (path[3], 4)
    Message.objects.get(pk=path[0]).delete()
    summarise(summary_id)
    assert not Summary.objects.exists()
    assert not Summarised.objects.exists()


def test_a_message_deleted_while_it_is_summarised_is_not_kept(
    alice: User, model: Callable[..., Any]
) -> None:
    conversation = talk(alice, 30, [*FACTS[:2], f"My sister is called {SECRET}."])
    path = path_of(conversation)
    (summary_id,) = leave(conversation, 8)
    job = summary_store.claim(summary_id, timedelta(minutes=5))
    assert job is not None
    result = made(job, means(), means().limits())
    assert SECRET in result.summary.text
    lift_out(path[4])
    assert not summary_store.finish(job, result)
    assert SECRET not in everything()
    assert summaries_of(alice.pk, conversation.pk)[0].status == "wanted"


def test_a_conversation_and_an_account_take_their_summaries_with_them(
    alice: User, charlie: User
) -> None:
    for owner in (alice, charlie):
        make(talk(owner, 30), 8)
    mine = talk(alice, 30, [f"My sister is called {SECRET}."])
    make(mine, 8)
    mine.delete()
    assert SECRET not in everything()
    alice.delete()
    assert list(Summary.objects.values_list("owner", flat=True)) == [charlie.pk]


def everything() -> str:
    """Every text of every table of memory."""
    tables = apps.get_app_config("memory").get_models()
    return "\n".join(repr(row) for table in tables for row in table._default_manager.values())


# --- With a model -------------------------------------------------------------------------------

GOOD = "DECISIONS\n- user: Let's go with PostgreSQL.\nFACTS\n- user: Ingrid owns the billing part."


def history(conversation: Conversation) -> list[Any]:
    return list(Message.objects.filter(conversation=conversation).order_by("pk").values())


@pytest.mark.django_db(transaction=True)
def test_a_model_writes_from_the_originals_in_chunks(
    alice: User, model: Callable[..., Any], settings: Any
) -> None:
    settings.LUMINA_MODEL_CONTEXT_TOKENS = 1_600
    server = model([{"reply": say(GOOD, finish="stop"), "times": 20}])
    conversation = talk(alice, 40)
    (summary_id,) = leave(conversation, 32)
    summarise(summary_id)
    (kept,) = summaries_of(alice.pk, conversation.pk)
    assert (kept.status, kept.model_name, kept.error) == ("made", "scripted", "")
    assert "Decisions:\n- " in kept.text
    assert "user: Ingrid owns the billing part." in kept.text
    sent = [body["messages"] for body in server.bodies]
    assert len(sent) > 2
    assert all("tools" not in body for body in server.bodies)
    told = "\n".join(messages[-1]["content"] for messages in sent)
    assert all(f"Tower number {n} " in told for n in range(1, 32, 2))
    assert "Tower number 33 " not in told


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (fail(500, {"error": {"message": "out of memory"}}), "model server"),
        (fail(401, {"error": {"message": "bad key"}}), "key"),
        ([{"hang": True}], "longer than"),
        ([{"cut": True}], "model server"),
        (say(""), "nothing that the conversation says"),
        (say("<think>hm</think>"), "nothing that the conversation says"),
        (say("I am sorry, I cannot do that."), "nothing that the conversation says"),
    ],
    ids=["broken", "refused", "hangs", "cut", "empty", "thoughts", "nonsense"],
)
def test_a_failure_changes_no_message_is_shown_and_tried_again(
    alice: User, model: Callable[..., Any], settings: Any, reply: Any, words: str
) -> None:
    if words == "longer than":
        settings.LUMINA_SUMMARY_SECONDS = 1.0
    server = model([{"reply": reply, "times": 9}])
    conversation = talk(alice, 30)
    before = history(conversation)
    make(conversation, 8)
    (kept,) = summaries_of(alice.pk, conversation.pk)
    assert (kept.status, kept.text, kept.tries) == ("failed", "", 1)
    assert words in kept.error
    assert kept.next_try_at is not None
    assert kept.next_try_at > timezone.now()
    assert history(conversation) == before
    assert shown(conversation, 8) == ""
    summarise(kept.summary_id)  # too early
    assert summaries_of(alice.pk, conversation.pk)[0].tries == 1
    server.play({"reply": say(GOOD), "times": 9})
    wait_over()
    assert summary_store.due(timezone.now(), 10) == [kept.summary_id]
    summarise(kept.summary_id)
    (kept,) = summaries_of(alice.pk, conversation.pk)
    assert (kept.status, kept.error, kept.model_name) == ("made", "", "scripted")


@pytest.mark.django_db(transaction=True)
def test_a_server_that_takes_less_than_was_said_gets_shorter_chunks_at_the_next_try(
    alice: User, model: Callable[..., Any], settings: Any
) -> None:
    settings.LUMINA_MODEL_CONTEXT_TOKENS = 4_000

    def small(body: dict[str, Any]) -> Any:
        if len(body["messages"][-1]["content"]) > 4_000:
            return fail(400, {"error": {"message": "maximum context length is 1000 tokens"}})
        return say(GOOD)

    model([{"reply": small, "times": 99}])
    conversation = talk(alice, 60)
    make(conversation, 32)
    (kept,) = summaries_of(alice.pk, conversation.pk)
    assert (kept.status, kept.tries) == ("failed", 1)
    wait_over()
    summarise(kept.summary_id)
    assert summaries_of(alice.pk, conversation.pk)[0].status == "made"


@pytest.mark.django_db(transaction=True)
def test_an_answer_full_of_markers_and_thoughts_becomes_clean_text(
    alice: User, model: Callable[..., Any]
) -> None:
    model([say(f"<think>{SECRET}</think>Here: [1]\n\n**Facts**\n* User: {FACTS[0]} [3]【2†x】")])
    conversation = talk(alice, 30)
    make(conversation, 8)
    assert shown(conversation, 8).endswith(f"user: {FACTS[0]}")


@pytest.mark.django_db(transaction=True)
def test_a_model_that_never_succeeds_is_quoted_around_and_that_is_said(
    alice: User, model: Callable[..., Any]
) -> None:
    server = model([{"reply": fail(500), "times": 99}])
    conversation = talk(alice, 30)
    make(conversation, 8)
    for n_tries in range(2, summary_store.MAX_TRIES + 1):
        wait_over()
        (summary_id,) = Summary.objects.values_list("pk", flat=True)
        summarise(summary_id)
        assert summaries_of(alice.pk, conversation.pk)[0].tries == n_tries
    (kept,) = summaries_of(alice.pk, conversation.pk)
    assert (kept.status, kept.model_name) == ("made", "")
    assert kept.error.endswith("After 5 tries it is quoted instead.")
    assert FACTS[0] in shown(conversation, 8)
    n_asked = len(server.bodies)
    wait_over()
    find_unsummarised()
    make(conversation, 8)
    assert len(server.bodies) == n_asked


# --- What nobody works on -----------------------------------------------------------------------


def test_one_at_a_time_works_on_a_summary_and_a_dead_one_is_followed(alice: User) -> None:
    conversation = talk(alice, 30)
    (summary_id,) = leave(conversation, 8)
    assert summary_store.claim(summary_id, timedelta(minutes=5)) is not None
    assert summary_store.claim(summary_id, timedelta(minutes=5)) is None
    assert summary_store.due(timezone.now(), 10) == []
    Summary.objects.update(worked_on_until=timezone.now() - timedelta(seconds=1))
    assert summary_store.due(timezone.now(), 10) == [summary_id]
    summarise(summary_id)
    assert summaries_of(alice.pk, conversation.pk)[0].status == "made"


@pytest.mark.django_db(transaction=True)
def test_a_queue_that_is_down_fails_nobody_and_the_wish_stands(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(summarise_span, "apply_async", down)
    conversation = talk(alice, 30)
    (summary_id,) = leave(conversation, 8)
    send(summarise_span, [summary_id])
    assert summary_store.due(timezone.now(), 10) == [summary_id]


@pytest.mark.django_db(transaction=True)
def test_what_was_lost_on_its_way_is_sent_again(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    conversation = talk(alice, 30)
    (summary_id,) = leave(conversation, 8)
    monkeypatch.setattr(summarise_span, "apply_async", lambda args, **_: sent.extend(args))
    find_unsummarised()
    assert sent == [summary_id]
    summarise_span(summary_id)
    find_unsummarised()
    assert sent == [summary_id]


# --- A long history -----------------------------------------------------------------------------


def test_a_fact_of_every_tenth_of_170_000_tokens_is_in_the_summaries_or_packed(alice: User) -> None:
    messages, facts = long_talk(170_000, seed=13)
    conversation = stored(alice, messages)
    n_left = len(messages) - 20
    make(conversation, n_left)
    text = shown(conversation, n_left, budget=4_800)
    assert sum(fact in text for fact, _ in facts) >= 8
    for fact, question in [(fact, asked) for fact, asked in facts if fact not in text]:
        packed = recall(alice.pk, conversation.pk, conversation.head_id, question, 1_500)
        assert fact in "\n".join(line.text for line in packed.lines)
    tight = shown(conversation, n_left, budget=1_200)
    assert sum(fact in tight for fact, _ in facts) >= 6


@pytest.mark.django_db(transaction=True)
def test_a_model_that_reads_170_000_tokens_in_chunks_loses_no_tenth(
    alice: User, model: Callable[..., Any]
) -> None:
    server = model([{"reply": _statements, "times": 999}])
    messages, facts = long_talk(170_000, seed=14)
    conversation = stored(alice, messages)
    n_left = len(messages) - 20
    make(conversation, n_left)
    assert {one.model_name for one in summaries_of(alice.pk, conversation.pk)} == {"scripted"}
    assert len(server.bodies) >= 28
    assert max(len(json.dumps(body)) for body in server.bodies) < 4 * 10_000
    text = shown(conversation, n_left, budget=4_800)
    assert sum(fact in text for fact, _ in facts) >= 9


def _statements(body: dict[str, Any]) -> list[Any]:
    """What a good model would write: the user's statements, and what each answer begins with."""
    told = []
    for line in body["messages"][-1]["content"].split("\n"):
        if line.startswith("{"):
            one = json.loads(line)
            first, *rest = re.split(r"(?<=[.?]) (?=[A-Z])", one.get("text", ""))
            said = [first, *rest] if one["from"] == "user" else [first]
            told += [f"- {one['from']}: {text}" for text in said if not text.endswith("?")]
    return say("\n".join(["FACTS", *told]))


def stored(owner: User, messages: Sequence[Said]) -> Conversation:
    """The messages as a conversation, in two statements."""
    conversation = Conversation.objects.create(owner=owner)
    first = (Message.objects.aggregate(newest=Max("pk"))["newest"] or 0) + 1
    rows = [
        Message(
            pk=first + n,
            conversation=conversation,
            parent_id=first + n - 1 if n else None,
            role=one.role,
            text=one.text,
            model_text=one.text,
            created_at=one.at,
        )
        for n, one in enumerate(messages)
    ]
    Message.objects.bulk_create(rows)
    conversation.head = rows[-1]
    conversation.save()
    return conversation
