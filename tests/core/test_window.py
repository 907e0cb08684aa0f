"""The window: the newest messages, whole, within the budget, and every cut stated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.agent.values import Message
from chat.agent.window import UNANSWERED, newest


def count(text: str) -> int:
    return len(text.split())


def talk(n: int) -> list[Message]:
    return [
        Message(role="user" if index % 2 == 0 else "assistant", text=f"message {index}")
        for index in range(n)
    ]


def spoken(messages: object) -> list[str]:
    return [m.text for m in messages if m.role != "system"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", [0, 1, 19, 20, 21, 22, 41])
def test_exactly_the_newest_twenty_are_visible(n: int) -> None:
    messages = talk(n)
    history = newest(messages, n_total=n, max_messages=20, budget_tokens=10_000, count_tokens=count)
    assert spoken(history.messages) == [m.text for m in messages[-20:]]
    assert history.n_visible == min(n, 20)
    assert history.n_total == n


def test_a_cut_is_stated_at_its_place() -> None:
    history = newest(talk(41), n_total=41, max_messages=20, budget_tokens=9_999, count_tokens=count)
    assert history.messages[0].role == "system"
    assert "21 earlier messages are left out" in history.messages[0].text


def test_nothing_is_stated_when_nothing_is_cut() -> None:
    history = newest(talk(6), n_total=6, max_messages=20, budget_tokens=9_999, count_tokens=count)
    assert history.note == ""
    assert all(m.role != "system" for m in history.messages)


def test_a_question_without_an_answer_is_explained() -> None:
    messages = [
        Message(role="user", text="one"),
        Message(role="user", text="two"),
        Message(role="assistant", text="answer"),
    ]
    history = newest(messages, n_total=3, max_messages=20, budget_tokens=999, count_tokens=count)
    assert [m.text for m in history.messages] == ["one", UNANSWERED, "two", "answer"]


@given(st.lists(st.integers(1, 30), max_size=30), st.integers(0, 300), st.integers(0, 25))
def test_the_budget_is_hard_and_the_newest_come_first(
    lengths: list[int], budget: int, n: int
) -> None:
    messages = [
        Message(role="user" if i % 2 == 0 else "assistant", text="w " * length)
        for i, length in enumerate(lengths)
    ]
    history = newest(
        messages, n_total=len(messages), max_messages=n, budget_tokens=budget, count_tokens=count
    )
    assert sum(count(m.text) for m in history.messages) <= budget
    kept = [m for m in history.messages if m.role != "system"]
    assert kept == (messages[-len(kept) :] if kept else [])
    assert len(kept) == history.n_visible <= n
