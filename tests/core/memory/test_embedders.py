import json

import numpy as np
import pytest

from memory.engine import History, default_embedder
from memory.engine.embedders import minilm
from memory.engine.embedders.cached import CachedEmbedder
from memory.engine.embedders.endpoint import EndpointEmbedder
from memory.engine.errors import EmbedderFailed
from memory.engine.plan import Plan
from memory.engine.ports import Embedding
from tests.core.memory.builders import filler, said, tool

MEANINGS = {"canine": 0, "dog": 0, "hound": 0, "car": 1, "vehicle": 1}


class FakeEmbedder:
    """Words of one meaning have one vector; other words point each its own way."""

    name = "fake"
    dimensions = 8

    def __init__(self):
        self.encoded = []

    def knows(self, text):
        return text.isascii()

    def encode(self, texts, contexts):
        self.encoded += texts
        return [self._embed(text) for text in texts]

    def encode_question(self, text):
        return self._embed(text)

    def _embed(self, text):
        words = text.lower().strip("?.").split() or ["."]
        rows = np.zeros((len(words), 8), np.float32)
        for at, word in enumerate(words):
            rows[at, MEANINGS.get(word, 2 + sum(map(ord, word)) % 6)] = 1
        pooled = rows.mean(axis=0)
        return Embedding(pooled / np.linalg.norm(pooled), rows, tuple(words))


class BrokenEmbedder(FakeEmbedder):
    def encode(self, texts, contexts):
        raise EmbedderFailed("The model is gone.")


def packed_text(history, question, budget=60):
    return "\n".join(m.content for m in history.pack(question, budget).messages)


@pytest.mark.parametrize("fact", [said("Rex the hound barks"), tool("hound barks", "note", "x")])
def test_a_line_is_found_by_its_meaning(fact):
    messages = [*filler(40), fact, *filler(40)]
    assert "hound barks" in packed_text(History(messages, embedder=FakeEmbedder()), "canine?")
    assert "hound barks" not in packed_text(History(messages), "canine?")


def test_every_line_is_encoded_once():
    embedder = FakeEmbedder()
    history = History(filler(10), embedder=embedder)
    for _ in range(3):
        history.pack("dog", 100)
    assert len(embedder.encoded) == 10


def test_a_failure_is_told_and_words_go_on_working():
    history = History([said("The dog barks")], embedder=BrokenEmbedder())
    packed = history.pack("dog", 100)
    assert "The dog barks" in packed.messages[0].content
    assert packed.receipt.notices == ("The model is gone.",)


def test_a_question_in_an_unknown_script_is_left_to_words():
    history = History([*filler(30), said("собака лает")], embedder=FakeEmbedder())
    packed = history.pack("собака", 60)
    assert "собака лает" in packed.messages[0].content
    assert all("meaning" not in line.parts for line in packed.lines)


def test_kept_vectors_are_not_made_again():
    kept: dict[str, bytes] = {}
    inner = FakeEmbedder()
    embedder = CachedEmbedder(
        inner, lambda keys: {k: kept[k] for k in keys if k in kept}, kept.update
    )
    first = History(filler(5), embedder=embedder).pack("dog", 100)
    inner.encoded.clear()
    assert History(filler(5), embedder=embedder).pack("dog", 100).messages == first.messages
    assert inner.encoded == []


def test_what_has_no_vectors_is_found_by_words():
    embedder = FakeEmbedder()
    embedder.encode = lambda texts, contexts: [None] * len(texts)
    history = History([said("The dog barks")], embedder=embedder)
    assert history.n_unencoded == 1
    assert "The dog barks" in packed_text(history, "dog")


def test_a_line_without_vectors_has_no_place_in_the_order_of_meaning():
    embedder = FakeEmbedder()
    messages = [said("The hound barks"), tool("the dog ran\nthe car stood", "note", "x")]
    history = History(messages, embedder=embedder, plan=Plan(encode_output=False))
    packed = history.pack("dog", 200)
    meant = {line.text for line in packed.lines if "meaning" in line.parts}
    assert embedder.encoded == ["The hound barks"]
    assert meant == {"The hound barks"}
    assert "the dog ran" in packed.messages[0].content


def test_an_embedding_survives_being_kept():
    embedding = FakeEmbedder().encode_question("the dog in the car")
    again = Embedding.from_bytes(embedding.to_bytes())
    assert np.allclose(again.pooled, embedding.pooled, atol=1e-3)
    assert again.tokens is not None
    assert again.tokens.shape == embedding.tokens.shape


def endpoint(rows):
    answer = {"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}
    return EndpointEmbedder("m", 2, lambda body: json.dumps(answer).encode())


def test_an_endpoint_gives_vectors_of_length_one():
    assert endpoint([[3.0, 4.0]]).encode_question("x").pooled.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("rows", [[], [[1.0]], [[0.0, 0.0]], [["a", "b"]]])
def test_an_endpoint_that_answers_nonsense_is_a_failure_that_is_seen(rows):
    with pytest.raises(EmbedderFailed):
        endpoint(rows).encode_question("x")


def test_an_endpoint_that_is_down_is_a_failure_that_is_seen():
    def down(body):
        raise ConnectionRefusedError("no")

    with pytest.raises(EmbedderFailed, match="no"):
        EndpointEmbedder("m", 2, down).encode(["x"], [""])


def test_without_a_model_installed_there_is_none():
    default_embedder.cache_clear()
    if minilm.is_installed():
        assert default_embedder().name == minilm.MiniLM.name
    else:
        assert default_embedder() is None or default_embedder().name.startswith("multilingual")


@pytest.mark.skipif(not minilm.is_installed(), reason="the English encoder is optional")
def test_the_english_encoder_knows_synonyms():
    model = minilm.MiniLM()
    asked = model.encode_question("Where does my sibling reside?")
    near, far = model.encode(["My sister lives in Porto.", "The kettle is on."], ["", "Hello."])
    assert asked.pooled @ near.pooled > asked.pooled @ far.pooled
    assert len(near.words) == len(near.tokens)
