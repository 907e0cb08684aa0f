"""One page is one source with one number, and its snapshot's spans stay true."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.sources import SourceRegistry, canonical_url, domain_of, is_linkable, paragraphs
from chat.agent.values import Page, SearchResult
from tests.core.fakes import NOON

SAME = [
    "https://example.org/a",
    "http://example.org/a",
    "https://EXAMPLE.org/a/",
    "https://example.org:443/a#part",
    "https://example.org/a?utm_source=news&utm_medium=mail",
    "https://example.org/a?fbclid=1&gclid=2",
]
OTHER = [
    "https://example.org/b",
    "https://example.org/a?id=1",
    "https://example.org/a?ref=1",
    "https://example.org/a?source=1",
    "https://sub.example.org/a",
    "https://example.org:8443/a",
    "/library/1",
]


def test_spellings_of_one_page_have_one_key() -> None:
    assert len({canonical_url(url) for url in SAME}) == 1


def test_other_pages_have_other_keys() -> None:
    assert len({canonical_url(url) for url in [SAME[0], *OTHER]}) == len(OTHER) + 1


def test_encoded_and_plain_letters_are_one_page() -> None:
    encoded = "https://ja.example.org/wiki/%E6%B0%B7"
    assert canonical_url(encoded) == canonical_url("https://ja.example.org/wiki/氷")


def test_a_source_keeps_its_address_as_it_came() -> None:
    registry = SourceRegistry()
    url = "https://e.org/wiki/%E6%B0%B7?ref=1#part"
    source, _ = registry.add_result(
        SearchResult(title="氷", url=url, text="x"), provider="p", read_at=NOON
    )
    assert source.url == url


@given(st.text(max_size=60))
def test_any_text_has_a_key_and_a_domain(url: str) -> None:
    assert isinstance(canonical_url(url), str)
    assert isinstance(domain_of(url), str)


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "//evil.example/x", "ftp://e.org", "", "https://"],
)
def test_only_the_web_and_the_library_can_be_linked(url: str) -> None:
    assert not is_linkable(url)


def test_the_web_and_the_library_can_be_linked() -> None:
    assert is_linkable("https://e.org/a")
    assert is_linkable("/library/3")


@given(st.text(alphabet="ab \n\t", max_size=80))
def test_paragraphs_hold_all_that_is_not_white(text: str) -> None:
    spans = paragraphs(text)
    assert "".join("".join(span.of(text).split()) for span in spans) == "".join(text.split())
    assert all(span.of(text) == span.of(text).strip() != "" for span in spans)


TEXTS = st.lists(
    st.tuples(
        st.sampled_from([*SAME, *OTHER]), st.text(alphabet="abc \n.", min_size=1, max_size=40)
    ),
    max_size=12,
)


@given(TEXTS)
def test_numbers_are_gapless_and_passages_hold_what_was_shown(found: list[tuple[str, str]]) -> None:
    registry = SourceRegistry()
    for url, text in found:
        source, spans = registry.add_result(
            SearchResult(title="t", url=url, text=text), provider="p", read_at=NOON
        )
        now = registry.sources[source.number - 1]
        assert [span.of(now.text) for span in spans] == [
            span.of(text.strip()) for span in paragraphs(text.strip())
        ]
    assert [source.number for source in registry.sources] == list(
        range(1, len(registry.sources) + 1)
    )


def test_a_page_that_redirects_is_the_source_that_was_asked_for() -> None:
    registry = SourceRegistry()
    first, _ = registry.add_result(
        SearchResult(title="t", url="https://e.org/old", text="extract"), provider="p", read_at=NOON
    )
    page = Page(url="https://e.org/new", title="New", text="whole", read_at=NOON)
    second, span = registry.add_page(page, asked_url="https://e.org/old", provider="Page")
    third, _ = registry.add_page(page, asked_url="https://e.org/new", provider="Page")
    assert first.number == second.number == third.number == 1
    assert span.of(second.text) == "whole"
    assert second.text.startswith("extract")
