from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory.engine.dates import annotate, find_dates

ZONE = timezone(timedelta(hours=2))
TUESDAY = datetime(2026, 3, 31, 10, 0, tzinfo=ZONE)


def dated(text, at=TUESDAY):
    return annotate(text, find_dates(text, at))


@pytest.mark.parametrize(
    ("phrase", "date"),
    [
        ("deployed yesterday", "2026-03-30"),
        ("seen the day before yesterday", "2026-03-29"),
        ("3 weeks ago", "2026-03-09…2026-03-15"),
        ("two days ago", "2026-03-29"),
        ("a few days ago", "2026-03-26…2026-03-29"),
        ("we met on Monday", "2026-03-30"),
        ("on Tuesday", "2026-03-31"),
        ("next Monday", "2026-04-06"),
        ("ready by Monday", "2026-04-06"),
        ("last Friday", "2026-03-27"),
        ("this Friday", "2026-04-03"),
        ("last week", "2026-03-23…2026-03-29"),
        ("this weekend", "2026-04-04…2026-04-05"),
        ("last month", "2026-02"),
        ("last year", "2025"),
        ("in 2 hours", "2026-03-31"),
        ("tonight", "2026-03-31"),
        ("pasado mañana", "2026-04-02"),
        ("hace tres semanas", "2026-03-09…2026-03-15"),
        ("la semana pasada", "2026-03-23…2026-03-29"),
        ("vorgestern", "2026-03-29"),
        ("vor zwei Tagen", "2026-03-29"),
        ("il y a 3 jours", "2026-03-28"),
        ("due giorni fa", "2026-03-29"),
        ("anteontem", "2026-03-29"),
        ("dans un an", "2027"),
    ],
)
def test_a_relative_date_gets_its_calendar_date(phrase, date):
    assert dated(f"So {phrase}, then.") == f"So {phrase} [{date}], then."


def test_an_english_article_is_no_french_year():
    assert dated("In an hour or past an elm") == "In an hour [2026-03-31] or past an elm"
    assert dated("this an elm") == "this an elm"


def test_a_month_keeps_to_the_calendar():
    january = datetime(2026, 1, 31, 12, 0, tzinfo=ZONE)
    assert dated("It ends in a month.", january) == "It ends in a month [2026-02]."


def test_the_zone_of_the_message_decides_the_day():
    evening = datetime(2026, 3, 30, 22, 0, tzinfo=timezone(timedelta(hours=-7)))
    assert dated("tomorrow", evening) == "tomorrow [2026-03-31]"


@pytest.mark.parametrize(
    "text",
    [
        "call yesterday() first",
        "see yesterday.js and src/yesterday",
        'the song “Yesterday” and "Tomorrow Never Knows"',
        "`today` is a variable",
        "por la mañana",
        "am Morgen",
        "Das Haus ist hier.",
    ],
)
def test_what_is_not_a_date_is_left_alone(text):
    assert dated(text) == text


def test_a_message_without_a_time_is_left_alone():
    assert find_dates("deployed yesterday", None) == []


def test_a_date_is_added_once():
    once = dated("We deployed yesterday and again two weeks ago.")
    assert dated(once) == once


@pytest.mark.parametrize(
    ("phrase", "date"),
    [
        ("last ſunday", "2026-03-29"),
        ("YESTERDAY", "2026-03-30"),
        ("last frıday", "2026-03-27"),
    ],
)
def test_letters_that_only_look_like_others_break_nothing(phrase, date):
    assert date in dated(phrase)


@pytest.mark.parametrize("phrase", ["yesterday", "last year", "3 weeks ago", "in 999 years"])
def test_a_date_that_no_calendar_has_is_none(phrase):
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    assert phrase in (dated(phrase, first), dated(phrase, last))


def test_phrases_are_found_wherever_they_begin():
    text = "Yesterday (last week) x3 days ago, 3 days ago; la semana pasada,vorgestern"
    assert [date.when.precision for date in find_dates(text, TUESDAY)] == [
        "day", "days", "day", "days", "day",
    ]  # fmt: skip
