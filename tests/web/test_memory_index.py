"""What is recalled from the database is, to the digit, what the engine packs in memory."""

from __future__ import annotations

import pytest

from memory.bench.languages import language_cases
from memory.bench.sessions import session
from memory.engine import History
from memory.stored.recalling import recall
from tests.web.stored_sessions import PlainMessages, conversation_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader():
    return PlainMessages()


def stored(reader, owner, messages):
    conversation = conversation_of(owner)
    told, head = reader.put(conversation, messages)
    return conversation, told, head


@pytest.mark.parametrize(("seed", "budget"), [(7000, 700), (7001, 60), (11, 4000)])
def test_a_session_is_recalled_as_it_is_packed_in_memory(reader, alice, seed, budget):
    case = session(seed)
    conversation, told, head = stored(reader, alice, case.messages)
    history = History(told)
    for probe in case.probes[::5]:
        expected = history.pack(probe.question, budget, now=case.now, first_source=1)
        found = recall(
            reader, alice.pk, conversation.pk, head.pk, probe.question, budget, now=case.now
        )
        assert found == expected, probe.question


def test_every_language_is_recalled_as_it_is_packed_in_memory(reader, alice):
    for case in language_cases(3)[::3]:
        conversation, told, head = stored(reader, alice, case.messages)
        history = History(told)
        for probe in case.probes[:4]:
            expected = history.pack(probe.question, 300, now=case.now, first_source=1)
            found = recall(
                reader, alice.pk, conversation.pk, head.pk, probe.question, 300, now=case.now
            )
            assert found == expected
