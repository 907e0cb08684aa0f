"""Arguments of tool calls, as models really write them."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.arguments import parse_arguments
from chat.agent.errors import ToolError

plain = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20)
objects = st.dictionaries(
    st.text(min_size=1, max_size=8), plain | st.lists(plain, max_size=3), max_size=5
)


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ('{"query": "ice"}', {"query": "ice"}),
        ("", {}),
        ("null", {}),
        ('<think>{"query": "no"}</think>\n{"query": "ice"}', {"query": "ice"}),
        ('hm {"query": "no"}</thinking>{"query": "ice"}', {"query": "ice"}),
        ('Sure:\n```json\n{"query": "ice"}\n```\nDone.', {"query": "ice"}),
        ('I use {braces}. {"query": "ice"}', {"query": "ice"}),
        ('{"a": [1, 2,], "b": "x,}",}', {"a": [1, 2], "b": "x,}"}),
        ('{"text": "two\nlines"}', {"text": "two\nlines"}),
        ('"{\\"query\\": \\"ice\\"}"', {"query": "ice"}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a": "<think>b</think>c"}', {"a": "<think>b</think>c"}),
    ],
)
def test_an_object_is_found_in_what_surrounds_it(raw: str, read: dict):
    assert parse_arguments(raw) == read


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ('{"a":[-', {"a": []}),
        ('{"query": "ice", "pages": [-', {"query": "ice", "pages": []}),
        ('{"query": "ice", "limit": 5, "si', {"query": "ice", "limit": 5}),
        ('{"query": "ice", "note": "half a sen', {"query": "ice"}),
        ('{"query": "ice", "deep": {"a": 1, "b": tr', {"query": "ice", "deep": {"a": 1}}),
        ("{", {}),
    ],
)
def test_what_breaks_off_keeps_its_complete_fields(raw: str, read: dict):
    assert parse_arguments(raw) == read


@pytest.mark.parametrize("raw", ["[1]", '"ice"', "42", "ice", "{a: 1}", '{"a": NaN}', "[" * 9_999])
def test_anything_else_tells_the_model_what_to_send(raw: str):
    with pytest.raises(ToolError, match="Send one JSON object"):
        parse_arguments(raw)


@given(objects)
def test_every_valid_object_is_read_as_it_is(value: dict):
    assert parse_arguments(json.dumps(value)) == value


@given(objects, st.integers(12, 200))
def test_a_cut_keeps_the_earlier_field_and_invents_none(value: dict, cut: int):
    value.pop("first", None)
    read = parse_arguments(json.dumps({"first": 1, **value})[:cut])
    assert read["first"] == 1
    assert set(read) <= {"first", *value}


@given(st.text(alphabet='{}[]",:\\ \n1a<think>/`', max_size=60))
def test_any_text_is_either_an_object_or_a_plain_refusal(raw: str):
    with contextlib.suppress(ToolError):
        assert isinstance(parse_arguments(raw), dict)


@pytest.mark.parametrize("piece", ["<think>", "{", '"', "\\", ', "', '{"a":', "</think>{", ",  "])
def test_a_huge_mess_is_refused_in_no_time(piece: str):
    began = time.perf_counter()
    with contextlib.suppress(ToolError):
        parse_arguments('{"a":' + piece * (200_000 // len(piece)))
    assert time.perf_counter() - began < 1
