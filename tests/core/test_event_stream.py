"""Reading server-sent events from bytes, however they are cut and whatever ends their lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.providers.models.event_stream import EventReader

PIECES = [b"data: ", b"data:", b"event: x", b": hm", b"a", b"{}", b"\n", b"\r\n", b"\r", b"\n\n"]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


def read(*parts: bytes) -> list[bytes]:
    reader = EventReader()
    return [event for part in parts for event in reader.feed(part)] + reader.close()


@given(texts, st.data())
def test_every_cutting_of_a_stream_gives_the_same_events(text: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(*parts) == read(text)


@given(texts)
def test_line_ends_of_every_kind_mean_the_same(text: bytes) -> None:
    plain = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert read(text) == read(plain)
    assert read(plain.replace(b"\n", b"\r\n")) == read(plain)
    assert read(plain.replace(b"\n", b"\r")) == read(plain)


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"id: 7\nevent: x\nretry: 5\ndata: a\n\n", [b"a"]),
        (b": ping\n\n\n\ndata: a\n\n", [b"a"]),
        (b"data: a", [b"a"]),
        (b"data: a\r", [b"a"]),
        (b"<p>hello</p>\n\n", []),
        (b"", []),
    ],
)
def test_what_counts_as_an_event(text: bytes, events: list[bytes]) -> None:
    assert read(text) == events


def test_an_event_is_given_as_soon_as_its_empty_line_is_there() -> None:
    reader = EventReader()
    assert reader.feed(b"data: a\n") == []
    assert reader.feed(b"\n") == [b"a"]
    assert reader.feed(b"data: b\r\n\r") == []
    assert reader.feed(b"\n") == [b"b"]
