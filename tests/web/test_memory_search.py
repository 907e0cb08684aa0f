"""All that a person said and read is found again: theirs alone, by any of the words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.models import Message, Source
from memory import service
from memory.bench.stored import counted
from tests.web.test_memory_tasks import answered

pytestmark = pytest.mark.django_db

BEGIN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@pytest.fixture
def talk(alice):
    """Two conversations, two days apart."""
    first = answered(alice, "Where do otters sleep?", "Otters sleep in kelp, tied to it.")
    other = answered(alice, "What do seals eat?", "Seals eat herring and squid.")
    for days, run in ((0, first), (2, other)):
        at = BEGIN + timedelta(days=days)
        Message.objects.filter(conversation=run.conversation).update(created_at=at)
        Source.objects.filter(run=run).update(read_at=at)
    return first, other


def found(owner, query, **options):
    return [line.message_id for line in service.search_history(owner.pk, query, **options)]


def test_any_word_matches_and_the_best_line_comes_first(alice, talk):
    first, other = talk
    assert found(alice, "kelp herring squid")[:2] == [other.answer_id, first.answer_id]
    assert found(alice, "nothing of the kind: xylophone") == []


def test_a_message_that_nobody_indexed_is_found(alice, talk):
    assert found(alice, "kelp") == [talk[0].answer_id]


def test_what_was_read_is_found_with_the_answer_it_was_read_for(alice, talk):
    (line, *_) = service.search_history(
        alice.pk, "dense water", conversation_id=talk[1].conversation_id
    )
    assert (line.role, line.message_id) == ("tool", talk[1].answer_id)
    assert line.key == f"s{talk[1].sources.get().pk}"


def test_a_stranger_finds_nothing_of_it(alice, charlie, talk):
    answered(charlie, "Do otters bite?", "They do.")
    assert found(charlie, "kelp herring dense") != found(alice, "kelp herring dense")
    everything = " ".join(Message.objects.values_list("text", flat=True))
    own = set(Message.objects.filter(conversation__owner=charlie).values_list("pk", flat=True))
    assert set(found(charlie, everything, limit=100)) <= own
    assert found(charlie, "kelp", conversation_id=talk[0].conversation_id) == []


def test_role_conversation_and_days_narrow_the_search(alice, talk):
    first, other = talk
    words = "otters seals sleep eat"
    assert set(found(alice, words, role="user")) == {first.question_id, other.question_id}
    assert set(found(alice, words, role="assistant")) == {first.answer_id, other.answer_id}
    assert set(found(alice, words, conversation_id=other.conversation_id)) <= {
        other.question_id, other.answer_id,
    }  # fmt: skip
    day = BEGIN + timedelta(days=1)
    assert set(found(alice, words, since=day)) == {other.question_id, other.answer_id}
    assert set(found(alice, words, until=day)) == {first.question_id, first.answer_id}
    assert found(alice, words, since=day, until=day) == []


def test_the_limit_counts_messages(alice, talk):
    assert len(found(alice, "otters seals", limit=3)) == 3
    assert found(alice, "otters", limit=0) == []


def test_an_abandoned_branch_is_found_too(alice, talk):
    edited = answered(alice, "Where do walruses sleep?", edits=talk[0].question_id)
    assert found(alice, "kelp") == [talk[0].answer_id]
    assert edited.question_id in found(alice, "walruses")


def test_what_was_deleted_is_found_no_more(alice, talk):
    assert found(alice, "kelp")
    talk[0].conversation.delete()
    assert found(alice, "kelp") == []
    assert found(alice, "herring") == [talk[1].answer_id]


@pytest.mark.parametrize(
    "query", ['"kelp', "kelp*", "kel% OR kelp", "(kelp", "kelp' --", "\x00kelp"]
)
def test_signs_in_a_query_are_plain_text(alice, talk, query):
    assert found(alice, query)[:1] == [talk[0].answer_id]


@pytest.mark.parametrize("query", ["", "  ", "%", "*", "\\", "'", "OR"])
def test_a_query_without_a_word_of_theirs_finds_nothing(alice, talk, query):
    assert found(alice, query) == []


def test_an_excerpt_is_short_and_shows_the_match(alice):
    text = "\n".join(f"Line {n} speaks of the sea and of nothing else." for n in range(300))
    answered(alice, "Tell me of the sea.", text.replace("Line 150 speaks", "An otter speaks"))
    (line,) = service.search_history(alice.pk, "otter")
    assert len(line.excerpt) <= 500
    assert line.excerpt[0] == line.excerpt[-1] == "…"
    assert line.match.of(line.excerpt) == "An otter speaks of the sea and of nothing else."


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["otter", "x" * 700, "海獺", "\n", "a.b/c", "  "]), max_size=40))
def test_every_excerpt_has_at_most_500_characters_and_the_match_in_it(alice, words):
    run = answered(alice, "What?", " ".join([*words, "walrus"]))
    lines = service.search_history(
        alice.pk, "walrus otter 海獺", conversation_id=run.conversation_id
    )
    assert lines
    assert all(len(line.excerpt) <= 500 for line in lines)
    for line in lines:
        assert any(word in line.match.of(line.excerpt) for word in ("walrus", "otter", "海獺"))


def test_a_search_takes_the_same_queries_however_much_there_is(alice, talk):
    def n_queries():
        found(alice, "otters kelp")
        with counted() as reads:
            found(alice, "otters kelp")
        return reads.n_queries

    few = n_queries()
    for n in range(12):
        answered(alice, f"Question {n} about otters", f"Otters again, number {n}.")
    assert n_queries() == few


def test_the_newest_is_found_whatever_else_waits_to_be_indexed(alice):
    for number in range(70):
        answered(alice, f"Question {number}?", f"Answer {number}.")
    last = answered(alice, "Where do walruses rest?", "On floes of ice.")
    assert found(alice, "walruses") == [last.question_id]
