"""Vectors come later, from the background; what they find is what a history in memory finds."""

from __future__ import annotations

import pytest

from memory import embedding, service, tasks
from memory.engine import History
from memory.engine.errors import EmbedderFailed
from memory.index_models import PartVectors
from memory.stored.indexing import index_path
from memory.stored.meaning import encode_pending
from memory.stored.recalling import recall
from tests.core.memory.test_embedders import BrokenEmbedder, FakeEmbedder
from tests.web.stored_sessions import PlainMessages, conversation_of, said
from tests.web.test_memory_tasks import answered

pytestmark = pytest.mark.django_db

PAGE = "def hound(barks):\n    return barks\n\nclass Rex:\n    pass"
TALK = [
    said("Rex the hound barks.", speaker="Ana"),
    said("He sleeps. He eats. He runs along the beach.", "assistant"),
    said(PAGE, "tool", tool="read_file", target="rex.py"),
    said("The weather is fine."),
    said("ok", "assistant"),
    *[said(f"Remark {n} on the weather: nothing to add.") for n in range(20)],
]


class OtherEmbedder(FakeEmbedder):
    name = "other"


@pytest.fixture
def encoder(monkeypatch):
    def use(found):
        monkeypatch.setattr(embedding, "embedder", lambda: found)
        return found

    return use


def kept(owner, messages=TALK):
    reader, conversation = PlainMessages(), conversation_of(owner)
    told, head = reader.put(conversation, messages)
    index_path(reader, owner.pk, conversation.pk, head.pk)
    return reader, conversation, told, head


@pytest.mark.parametrize("question", ["canine?", "Does the dog bark?", "Ana said what of Rex?"])
@pytest.mark.parametrize("budget", [30, 90, 2000])
def test_with_vectors_a_recall_is_what_a_history_with_vectors_packs(alice, question, budget):
    reader, conversation, told, head = kept(alice)
    embedder = FakeEmbedder()
    while encode_pending(reader, embedder, 7):
        pass
    expected = History(told, embedder=embedder).pack(question, budget, first_source=1)
    found = recall(reader, alice.pk, conversation.pk, head.pk, question, budget, embedder=embedder)
    assert found == expected
    assert any("meaning" in line.parts for line in found.lines)


def test_what_is_not_encoded_yet_is_found_by_its_words(alice):
    reader, conversation, told, head = kept(alice)
    found = recall(reader, alice.pk, conversation.pk, head.pk, "hound", 90, embedder=FakeEmbedder())
    assert found == History(told).pack("hound", 90, first_source=1)


def test_the_backlog_is_encoded_once_and_again_for_another_encoder(alice, encoder):
    run = answered(alice)
    encoder(None)
    tasks.index_backlog()
    assert not PartVectors.objects.exists()
    first = encoder(FakeEmbedder())
    tasks.index_backlog()
    tasks.index_backlog()
    assert len(first.encoded) == 3
    assert service.index_state(run.conversation_id).n_encoded == {"fake": 3}
    encoder(OtherEmbedder())
    tasks.remember(run.answer_id)
    assert service.index_state(run.conversation_id).n_encoded == {"other": 3}
    assert PartVectors.objects.count() == 3


def test_a_failing_encoder_is_told_and_recall_goes_on(alice, encoder):
    run = answered(alice)
    encoder(BrokenEmbedder())
    tasks.remember(run.answer_id)
    state = service.index_state(run.conversation_id)
    assert (state.n_indexed, state.n_parts, state.n_encoded) == (2, 3, {})
    assert state.problem == "The model is gone."
    packed = service.recall(alice.pk, run.conversation_id, run.answer_id, "dense water", 200)
    assert packed.lines
    encoder(FakeEmbedder())
    tasks.index_backlog()
    assert service.index_state(run.conversation_id).problem == ""


def test_an_encoder_that_does_not_load_is_told(alice, monkeypatch):
    def broken():
        raise EmbedderFailed("It does not load.")

    monkeypatch.setattr(embedding, "embedder", broken)
    run = answered(alice)
    tasks.remember(run.answer_id)
    assert service.index_state(run.conversation_id).problem == "It does not load."
    assert service.recall(alice.pk, run.conversation_id, run.answer_id, "water", 200).lines


def test_no_encoder_and_an_endpoint_without_address_are_told_apart(settings):
    settings.LUMINA_EMBEDDER = "none"
    assert embedding.embedder() is None
    settings.LUMINA_EMBEDDER = "endpoint"
    with pytest.raises(EmbedderFailed, match="needs an address"):
        embedding.embedder()


def test_vectors_go_with_their_message(alice, encoder):
    run = answered(alice)
    encoder(FakeEmbedder())
    tasks.index_backlog()
    run.conversation.delete()
    assert not PartVectors.objects.exists()
