"""Log lines: fields in both forms, the request they belong to, and faults without their words."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from chat.logs import JsonFormatter, LineFormatter, fields, new_request_id, request_id


def record(message: str = "turn", *, fault: bool = False, **told: Any) -> logging.LogRecord:
    made = logging.LogRecord("lumina.x", logging.INFO, "x.py", 1, message, (), None)
    made.__dict__.update(fields(**told))
    if fault:
        made.exc_info = sys.exc_info()
    return made


def test_a_line_has_its_fields_as_key_and_value() -> None:
    line = LineFormatter().format(record(run=7, seconds=1.23456, status="a b", first=None))
    assert line.endswith('INFO lumina.x turn run=7 seconds=1.235 status="a b" first=None')


def test_an_object_has_its_fields_by_name() -> None:
    told = json.loads(JsonFormatter().format(record(run=7, seconds=1.5, word="ü\n")))
    assert told["message"] == "turn"
    assert (told["run"], told["seconds"], told["word"]) == (7, 1.5, "ü\n")
    assert told["time"].endswith("+00:00")


@pytest.mark.parametrize("form", [LineFormatter, JsonFormatter])
def test_no_value_can_begin_a_line_of_its_own(form: Any) -> None:
    assert "\n" not in form().format(record(word='x\n2030-01-01 INFO forged run="1"'))


@pytest.mark.parametrize("form", [LineFormatter, JsonFormatter])
def test_a_fault_is_told_by_kind_and_place_with_its_causes_and_without_words(form: Any) -> None:
    try:
        try:
            raise ValueError("my secret question")
        except ValueError as cause:
            raise RuntimeError("my secret answer") from cause
    except RuntimeError:
        quiet = form().format(record(fault=True))
        loud = form(show_messages=True).format(record(fault=True))
    assert "secret" not in quiet
    assert quiet.index("builtins.ValueError") < quiet.index("builtins.RuntimeError")
    assert "test_logs.py" in quiet
    assert "my secret answer" in loud


@pytest.mark.parametrize("form", [LineFormatter, JsonFormatter])
def test_a_sign_in_link_that_fails_is_logged_without_its_token(form: Any) -> None:
    line = form().format(record("Internal Server Error: /sign-in/NfaYFeE6pdI6-TP/"))
    assert "NfaYFeE6pdI6" not in line
    assert "/sign-in/…/" in line


def test_lines_carry_the_request_that_they_belong_to() -> None:
    token = request_id.set("abcdefgh")
    try:
        assert LineFormatter().format(record()).endswith("request=abcdefgh")
        assert json.loads(JsonFormatter().format(record()))["request"] == "abcdefgh"
    finally:
        request_id.reset(token)
    assert "request" not in LineFormatter().format(record())


@pytest.mark.parametrize("given", ["", "short", "x" * 65, "a b c d e f", "abc\ndefgh", "é" * 10])
def test_only_an_id_is_taken_over_from_outside(given: str) -> None:
    assert new_request_id(given) != given
    assert new_request_id("req-1234.5_6") == "req-1234.5_6"
