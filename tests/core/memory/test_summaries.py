"""Summaries made of the originals' own sentences, and what of them fits a budget."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine import History, Message
from memory.engine.extracting import extractive_summary
from memory.engine.sentences import sentences
from memory.engine.spans import planned_spans
from memory.engine.summaries import limit_tokens, shortened, urls_in, without_numbers
from memory.engine.tokens import estimate_tokens
from tests.core.memory.builders import said, tool
from tests.core.memory.long_talk import long_talk

AT = datetime(2026, 3, 31, 10, 0, tzinfo=UTC)
TEXTS = st.text(max_size=300) | st.sampled_from(
    [
        "We decided to use PostgreSQL.",
        "Mein Hund heißt Bello. Er ist drei.",
        "```\nx = 1\n```",
        "ok?",
    ]
)

SHORT_TALK = extractive_summary(long_talk(4_000)[0], 600, estimate_tokens, lambda text: True)


def summary(*messages: Message, most: int = 600, may_keep=lambda text: True) -> str:
    return extractive_summary(messages, most, estimate_tokens, may_keep).text


def section(text: str, title: str) -> list[str]:
    lines = text.split("\n")
    if title not in lines:
        return []
    rest = lines[lines.index(title) + 1 :]
    ends = [at for at, line in enumerate(rest) if not line.startswith("- ")]
    return rest[: ends[0]] if ends else rest


def test_a_summary_says_what_was_decided_who_told_what_and_what_is_open():
    text = summary(
        said("Let's go with PostgreSQL for the archive. My colleague Ingrid owns it.", at=AT),
        said("PostgreSQL 17 has incremental backups.", "assistant", at=AT),
        said("Which disk does it need?", at=AT),
        said("I could not find an answer to that.", "assistant", at=AT),
        said("How tall is the Eiffel Tower?", at=AT),
        said("The Eiffel Tower is 330 metres tall.", "assistant", at=AT),
    )
    decided = "- 2026-03-31 user: Let's go with PostgreSQL for the archive."
    assert section(text, "Decisions:") == [decided]
    assert "- 2026-03-31 user: My colleague Ingrid owns it." in section(text, "Facts:")
    assert "- 2026-03-31 assistant: The Eiffel Tower is 330 metres tall." in text
    assert section(text, "Open questions:") == ["- 2026-03-31 user: Which disk does it need?"]


def test_what_the_assistant_suggests_is_neither_a_decision_nor_the_users():
    text = summary(
        said("Which database fits us best, and what does it cost?"),
        said("I suggest MariaDB 11 for you. We decided to recommend it.", "assistant"),
    )
    assert "Decisions:" not in text
    assert all(line.startswith("- assistant: ") for line in section(text, "Facts:"))


def test_sources_are_addresses_and_no_number_of_them_is_left():
    text = summary(
        tool("", "web_search", "https://example.org/ice_(physics)"),
        tool("", "web_search", "https://example.org/failed", ok=False),
        said("Ice floats on water because it is less dense [1][2], see 【3†source】.", "assistant"),
        said("My notes on it are at https://notes.example.org/ice."),
    )
    assert section(text, "Sources:") == [
        "- https://example.org/ice_(physics)",
        "- https://notes.example.org/ice",
    ]
    assert "[1]" not in text
    assert "【" not in text
    assert without_numbers("So it is [1, 2] and [^3], an index a[2024] (see source 4).") == (
        "So it is and, an index a[2024]."
    )


@pytest.mark.parametrize(
    ("decision", "question", "answer"),
    [
        ("Wir nehmen die Lärche aus dem Schwarzwald.", "Was kostet der Kubikmeter Lärche?",
         "Dazu habe ich nichts gefunden."),
        ("Nos quedamos con la caldera de Valencia.", "¿Cuánto pesa la caldera vacía?",
         "No encontré ninguna fuente sobre el peso."),
        ("Мы решили ехать в Казань поездом.", "Сколько стоит билет до Казани?",
         "Об этом ничего не найдено."),
        ("会議は京都で開くことにします。", "京都の会場の料金はいくらですか？",
         "その情報は見つかりません。"),
    ],
)  # fmt: skip
def test_other_languages_decide_and_leave_questions_open_too(decision, question, answer):
    text = summary(
        said(decision), said("👍", "assistant"), said(question), said(answer, "assistant")
    )
    assert section(text, "Decisions:") == [f"- user: {decision}"]
    assert section(text, "Open questions:") == [f"- user: {question}"]


def test_what_the_last_message_asks_is_not_called_open_unless_it_is_all_there_is():
    asked = said("Which disk does the archive need?")
    tower = said("And the tower: it is 330 metres tall, right?")
    assert "Which disk" in summary(asked)
    assert "Which disk" in summary(asked, tower)
    assert "tower" not in summary(asked, tower)


def test_a_later_statement_takes_the_place_of_the_earlier_one():
    text = summary(said("My editor is Vim."), said("My editor is Helix."))
    assert "Helix" in text
    assert "Vim" not in text


def test_yesterday_gets_its_date():
    text = summary(said("The boiler broke down yesterday, in the evening.", at=AT))
    assert "yesterday [2026-03-30]" in text


def test_code_stays_out_and_an_identifier_in_a_sentence_stays_whole():
    code = "```python\nsecret_constant = compute(1, 2, 3)\n```"
    text = summary(said(f"Run `make_all --fast` before every release.\n\n{code}"))
    assert "make_all --fast" in text
    assert "secret_constant" not in text


def test_what_may_not_be_kept_is_never_chosen():
    told = said("My sister Ana lives in Porto. My locker code word is Xanthippe.")
    text = summary(told, may_keep=lambda text: "Xanthippe" not in text)
    assert "Porto" in text
    assert "Xanthippe" not in text


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXTS), max_size=12))
def test_the_same_messages_give_the_same_summary_within_its_limit(talk):
    messages = [Message(n, role, text, at=AT) for n, (role, text) in enumerate(talk)]
    made = extractive_summary(messages, 200, estimate_tokens, lambda text: True)
    n_said = sum(estimate_tokens(one.text) for one in messages)
    assert made == extractive_summary(messages, 200, estimate_tokens, lambda text: True)
    assert made.n_tokens == estimate_tokens(made.text)
    assert made.n_tokens <= limit_tokens(len(messages), n_said, 200)
    lines = made.text.split("\n")
    listed = [at for at, line in enumerate(lines) if line.startswith("- ")]
    assert sorted(made.order) == listed


@given(st.integers(0, 700))
def test_a_shortened_summary_keeps_its_most_telling_lines_under_their_titles(budget):
    made = SHORT_TALK
    text = shortened(made.text, made.order, budget, estimate_tokens)
    assert estimate_tokens(text) <= budget
    lines, kept = made.text.split("\n"), text.split("\n") if text else []
    assert [line for line in lines if line in kept] == kept
    assert not kept or (not kept[0].startswith("- ") and kept[-1].startswith("- "))
    best = lines[made.order[0]]
    assert not kept or best in kept


def test_no_time_of_a_long_span_is_left_out():
    messages, _ = long_talk(40_000)
    made = extractive_summary(messages, 600, estimate_tokens, lambda text: True)
    days = {line[2:12] for line in made.text.split("\n") if line.startswith("- 2026")}
    dates = [message.at.date().isoformat() for message in messages]
    quarter = len(dates) // 4
    for start in range(0, 4 * quarter, quarter):
        assert days & set(dates[start : start + quarter])


def test_a_longer_span_gets_more_but_never_above_the_bound_nor_half_of_itself():
    assert limit_tokens(2, 10_000, 600) < limit_tokens(64, 10_000, 600) < 600
    assert limit_tokens(100_000, 10_000_000, 600) == 600
    assert limit_tokens(64, 600, 600) == 300


def test_sentences_of_any_script_end_where_they_end():
    assert list(sentences("Call heron-04. How? At 14:30. Dr. Ito said so, e.g. twice.")) == [
        "Call heron-04.",
        "How?",
        "At 14:30.",
        "Dr. Ito said so, e.g. twice.",
    ]
    assert list(sentences("氷は浮く。水より軽い。")) == ["氷は浮く。", "水より軽い。"]
    assert list(sentences("- **Ice** floats.\n- It is light.")) == ["Ice floats.", "It is light."]


def test_an_address_ends_before_the_sentence_does():
    told = "See https://e.org/a_(b), (https://e.org/c) and <https://e.org/d?x=1>."
    assert urls_in(told) == ["https://e.org/a_(b)", "https://e.org/c", "https://e.org/d?x=1"]


def test_a_fact_of_every_tenth_of_170_000_tokens_is_in_the_summaries_or_packed():
    messages, facts = long_talk(170_000, seed=11)
    left = len(messages) - 20
    made = [
        extractive_summary(messages[span.start : span.end], 600, estimate_tokens, lambda text: True)
        for span in planned_spans(left, 8)
    ]
    told = "\n".join(one.text for one in made)
    assert sum(one.n_tokens for one in made) <= 8 * 600
    assert sum(fact in told for fact, _ in facts) >= 8
    history = History(messages) if any(fact not in told for fact, _ in facts) else History()
    for fact, question in facts:
        packed = "\n".join(one.content for one in history.pack(question, 1_500).messages)
        assert fact in told or fact in packed
