import pytest

from memory.engine import History
from memory.engine.search import search
from tests.core.memory.builders import filler, said


def test_the_excerpt_is_round_the_match_wherever_it_is():
    long = " ".join(f"Sentence {n} is about nothing." for n in range(60))
    message = said(f"{long} The vault opens with a copper key. {long}")
    hits = search(History([*filler(20), message]), "copper key")
    assert hits[0].message_id == message.id
    assert "copper key" in hits[0].excerpt
    assert "copper key" in hits[0].span.of(message.text)


def test_any_term_may_match_in_another_form():
    work = said("User works at the harbour.")
    assert (
        search(History([*filler(20), work]), "where does the user work?")[0].message_id == work.id
    )


@pytest.mark.parametrize("query", ["", "%", "_", '"', "NEAR(", "😀", "  \n"])
def test_a_query_without_words_finds_nothing_and_breaks_nothing(query):
    assert search(History(filler(20)), query) == [] or "near" in query.lower()


def test_operators_are_words():
    message = said("salt AND pepper")
    assert [hit.message_id for hit in search(History([*filler(5), message]), "AND")] == [message.id]


def test_a_title_in_a_storage_marker_is_not_found():
    stored = said('Yes.<!--SOURCES:[{"title":"zebra","url":"https://a.example"}]-->')
    assert search(History([stored, *filler(5)]), "zebra") == []


def test_each_message_is_found_once_and_no_more_than_asked_for():
    history = History([said("The kettle sings.\nThe kettle whistles.") for _ in range(9)])
    hits = search(history, "kettle", limit=4)
    assert len({hit.message_id for hit in hits}) == len(hits) == 4
