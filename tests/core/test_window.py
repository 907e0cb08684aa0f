"""The window: the newest messages, whole; it stays where it was until it is full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.values import Message
from chat.agent.window import UNANSWERED, message_cost, note_cost, window, window_start


def count(text: str) -> int:
    return len(text.split())


def talk(n: int) -> list[Message]:
    return [
        Message(role="user" if index % 2 == 0 else "assistant", text=f"message {index}")
        for index in range(n)
    ]


@pytest.mark.parametrize("n", [0, 1, 19, 20, 21, 41])
def test_messages_that_fit_are_all_visible(n: int) -> None:
    assert window_start([10] * n, 0, limit_tokens=10 * n, newest=20) == 0


def test_once_it_is_full_only_the_newest_stay() -> None:
    assert window_start([10] * 101, 0, limit_tokens=1_000, newest=20) == 81
    assert window_start([10] * 102, 81, limit_tokens=1_000, newest=20) == 81


def test_where_not_even_the_newest_fit_fewer_stay() -> None:
    assert window_start([10] * 30, 0, limit_tokens=55, newest=20) == 25
    assert window_start([10, 999], 0, limit_tokens=55, newest=20) == 2


@given(
    st.lists(st.integers(1, 40), max_size=60), st.integers(0, 300), st.integers(0, 25), st.data()
)
def test_the_window_only_moves_on_and_never_costs_more_than_its_limit(
    costs: list[int], limit: int, newest: int, data: st.DataObject
) -> None:
    before = data.draw(st.integers(0, len(costs)))
    start = window_start(costs, before, limit_tokens=limit, newest=newest)
    assert before <= start <= len(costs)
    assert sum(costs[start:]) <= limit
    assert start == before or len(costs) - start <= newest


@given(st.lists(st.integers(1, 40), min_size=1, max_size=80), st.integers(40, 300))
def test_a_turn_extends_the_messages_of_the_turn_before_unless_the_window_moved(
    costs: list[int], limit: int
) -> None:
    start = 0
    for n in range(1, len(costs) + 1):
        moved = window_start(costs[:n], start, limit_tokens=limit, newest=5)
        assert moved == start or sum(costs[start:n]) > limit
        start = moved


def test_a_cut_is_stated_at_its_place() -> None:
    history = window(talk(41)[21:], n_total=41)
    assert history.messages[0].role == "system"
    assert "21 earlier messages are left out" in history.messages[0].text
    assert history.n_visible == 20


def test_nothing_is_stated_when_nothing_is_cut() -> None:
    history = window(talk(6), n_total=6)
    assert history.note == ""
    assert all(m.role != "system" for m in history.messages)


def test_a_question_without_an_answer_is_explained() -> None:
    messages = [
        Message(role="user", text="one"),
        Message(role="user", text="two"),
        Message(role="assistant", text="answer"),
    ]
    history = window(messages, n_total=3)
    assert [m.text for m in history.messages] == ["one", UNANSWERED, "two", "answer"]


@given(st.lists(st.sampled_from(["user", "assistant"]), max_size=30), st.integers(0, 500))
def test_what_is_printed_never_costs_more_than_was_counted(roles: list, n_older: int) -> None:
    messages = [Message(role=role, text=f"words of message {at}") for at, role in enumerate(roles)]
    n_total = len(messages) + n_older
    history = window(messages, n_total=n_total)
    counted = sum(message_cost(one, count) for one in messages) + note_cost(n_total, count)
    assert sum(count(m.text) for m in history.messages) <= counted
