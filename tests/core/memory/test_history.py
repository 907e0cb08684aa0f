import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine import History, Message
from memory.engine.question import ask
from memory.engine.tokens import estimate_tokens
from tests.core.memory.builders import START, edit, filler, said, shown, tool

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "MAX_SIZE",
    "value",
    "17",
    "read",
    "write",
    "the",
    "of",
    "yesterday",
    "src/a.py",
    "水",
    "",
]
TEXTS = st.lists(st.sampled_from([*WORDS, "\n", ". "]), max_size=40).map(" ".join)


@st.composite
def messages(draw):
    number = draw(st.integers(0, 10**9))
    role = draw(st.sampled_from(["user", "assistant", "tool"]))
    target = draw(st.sampled_from(["src/a.py", "src/b.py"])) if role == "tool" else None
    args = draw(
        st.sampled_from([None, {"offset": 1}, {"old_string": "alpha", "new_string": "beta"}])
    )
    at = draw(st.sampled_from([None, START, START + timedelta(days=40)]))
    return Message(
        f"{number}", role, draw(TEXTS), at, tool="read_file" if target else None, target=target,
        args=args, ok=draw(st.booleans()),
    )  # fmt: skip


HISTORIES = st.lists(messages(), max_size=12, unique_by=lambda message: message.id)


@settings(max_examples=80, deadline=None)
@given(HISTORIES, TEXTS, st.integers(0, 600), st.sampled_from(["fill", "lean"]), st.integers(0, 4))
def test_the_budget_holds_and_the_receipt_adds_up(history, question, budget, policy, newest):
    packed = History(history).pack(question, budget, policy=policy, keep_newest=newest)
    counted = sum(estimate_tokens(message.content) + 4 for message in packed.messages)
    assert counted == packed.n_tokens <= budget
    receipt = packed.receipt
    assert receipt.line_tokens + receipt.frame_tokens == receipt.n_tokens == packed.n_tokens
    assert receipt.n_packed + sum(out.n_lines for out in receipt.left_out) == receipt.n_lines
    assert all(out.n_lines > 0 for out in receipt.left_out)


@settings(max_examples=25, deadline=None)
@given(HISTORIES, TEXTS, st.integers(0, 300))
def test_the_same_input_gives_the_same_bytes(history, question, budget):
    assert History(history).pack(question, budget) == History(history).pack(question, budget)


@settings(max_examples=25, deadline=None)
@given(HISTORIES, TEXTS, st.data())
def test_removing_a_message_is_as_if_it_had_never_been(history, question, data):
    kept = History(history)
    gone = data.draw(st.sets(st.sampled_from([m.id for m in history]))) if history else set()
    for message_id in sorted(gone):
        kept.remove(message_id)
    fresh = History([message for message in history if message.id not in gone])
    assert kept.pack(question, 300) == fresh.pack(question, 300)


@settings(max_examples=20, deadline=None)
@given(HISTORIES, TEXTS, st.integers(0, 300))
def test_the_parts_of_every_score_add_up(history, question, budget):
    packed = History(history).pack(question, budget)
    for line in packed.lines:
        if line.parts:
            assert sum(line.parts.values()) == pytest.approx(line.score, rel=1e-5)


def test_a_counter_that_is_worse_on_the_whole_cannot_break_the_budget():
    """A counter may charge more for a text than for its parts; the limit holds all the same."""

    def greedy(text):
        return len(text) // 4 + text.count("\n") ** 2

    history = History(filler(60), count_tokens=greedy)
    packed = history.pack("weather", 200)
    assert sum(greedy(m.content) + 4 for m in packed.messages) == packed.n_tokens <= 200


def test_more_budget_keeps_what_less_budget_kept():
    rng = random.Random(5)
    history = History(filler(30) + [said(" ".join(rng.sample(WORDS, 6))) for _ in range(60)])
    before: set[object] = set()
    for budget in range(60, 1200, 60):
        kept = {line.text for line in history.pack("alpha value 17", budget).lines}
        assert len(before - kept) <= 1
        before = kept


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Моя сестра Анна живёт в Риге.", "Где живёт сестра?"),
        ("我姐姐住在里斯本。", "姐姐住在哪里？"),
        ("Η αδελφή μου μένει στην Πάτρα.", "Πού μένει η αδελφή;"),
        ("أختي تعيش في لشبونة.", "أين تعيش أختي؟"),
        ("พี่สาวของฉันอยู่ที่เชียงใหม่", "พี่สาวอยู่ที่ไหน"),
    ],
)
def test_a_fact_is_found_in_any_script(fact, question):
    assert fact in shown([*filler(40), said(fact), *filler(40)], question, 150)


def test_a_question_that_points_back_is_searched_with_the_turn_before():
    history = [said("My sister Ana lives in Porto."), *filler(60),
               said("I will call my sister Ana."), said("Good idea.", "assistant")]  # fmt: skip
    assert "Porto" in shown(history, "Where does she live?", 120)


CALLS = [f"x{n} = walk(tree{n}, function{n % 7})" for n in range(60)]


@pytest.mark.parametrize(
    "question",
    [
        "Which function is there to climb up?",
        "Welche Funktion klettert hoch?",
        "哪个函数？",
    ],
)
def test_a_function_is_found_by_what_code_calls_it(question):
    history = [tool("\n".join([*CALLS[:40], "def ascend(node):", "    go()", *CALLS[40:]]))]
    text = shown(history, question, 80)
    assert "def ascend(node):" in text


def test_keywords_of_code_are_searched_for_only_where_tools_printed_something():
    talk = [said("Raise the blinds."), said("The plan may fail."), *filler(30)]
    assert "rais" not in ask(History(talk), "Why did it fail?").terms
    assert "rais" in ask(History([*talk, tool("raise Failed")]), "Why did it fail?").terms
    assert "rais" not in ask(History([*talk, tool("return 1")]), "Where is the fun?").terms


def test_a_word_that_prose_has_now_and_then_is_no_keyword():
    rows = [f"The dam {n} was built in the year {1500 + n}." for n in range(400)]
    page = tool(
        "\n".join([*rows, "They had to raise it, and had fun."]), "fetch", "https://a.example"
    )
    asked = ask(History([page]), "Which method failed?")
    assert not {"rais", "fun"} & set(asked.terms)
    assert not asked.alone


def test_the_matching_part_of_an_endless_line_is_kept():
    words = [f"word{n}" for n in range(2000)]
    words[1500] = "password_hint"
    text = shown([said(" ".join(words)), *filler(20)], "What is the password_hint?", 200)
    assert "password_hint" in text


def test_an_old_error_is_not_kept_for_being_an_error():
    history = [tool("error: disk full", "run_backup", "b"), *filler(60, "harvest")]
    assert "disk full" not in shown(history, "How was the harvest?", 120)


def test_the_newest_messages_are_kept_whole_on_request():
    history = filler(30)
    packed = History(history).pack("Anything?", 300, keep_newest=3)
    assert [message.content for message in packed.messages][-3:] == [m.text for m in history[-3:]]


def test_what_is_left_out_is_stated():
    packed = History(filler(30)).pack("?", 60, keep_newest=2)
    assert packed.messages[0].content.startswith(("(Earlier", "Excerpts"))


def test_a_message_of_storage_format_alone_becomes_nothing():
    stored = said('<!--SOURCES:[{"title":"secret title","url":"https://a.example"}]-->')
    assert shown([stored], "secret title") == ""


def test_a_date_said_long_ago_is_shown_with_its_calendar_date():
    history = [said("We deployed the gateway yesterday.", at=START), *filler(40)]
    text = shown(history, "When was the gateway deployed?", 120)
    assert "yesterday [2026-03-30]" in text


def test_the_calendar_date_finds_the_line():
    history = [said("We deployed yesterday.", at=datetime(2026, 3, 31, 9, 0, tzinfo=UTC)),
               *filler(40)]  # fmt: skip
    assert "deployed yesterday" in shown(history, "What happened on 2026-03-30?", 120)


def test_a_relative_date_in_the_question_is_searched_for_by_its_day():
    days = [said(f"Note of day {n}.", at=START + timedelta(days=n)) for n in range(40)]
    asked = START + timedelta(days=31)
    assert "Note of day 30." in shown(days, "What did I note yesterday?", 60, now=asked)


def test_how_many_searches_has_an_exact_answer():
    history = [tool("nothing", "web_search", f"query {n}") for n in range(40)]
    text = shown([*history, *filler(40)], "How many searches did you run?", 200)
    assert "Searches made (40)" in text
    assert "more" in text


def test_a_list_that_fits_is_complete_and_failures_are_counted():
    history = [edit("a", "b", f"src/{name}.py") for name in ("one", "two", "three")]
    failed = [tool("gone", "fetch_page", "https://a.example", ok=False)]
    text = shown([*history, *failed, *filler(20)], "Which files did you change, what failed?", 400)
    assert "Files changed (3): src/one.py, src/two.py, src/three.py" in text
    assert "Calls that failed (1): https://a.example" in text


def test_identical_lines_are_shown_once_with_their_count():
    history = History([said("The kettle is on.") for _ in range(5)])
    packed = history.pack("kettle", 200)
    assert [line.text for line in packed.lines] == ["The kettle is on."]
    assert "shown once of 5" in packed.lines[0].reason


def test_lean_stops_when_nothing_relevant_is_left():
    history = History([said("The kettle is on."), *filler(50)])
    lean = history.pack("kettle", 2000, policy="lean")
    assert len(lean.lines) < 12
    assert len(history.pack("kettle", 2000).lines) == 51


def test_an_id_can_be_added_once():
    message = said("a")
    history = History([message])
    with pytest.raises(ValueError, match="there already"):
        history.add(message)
    with pytest.raises(KeyError):
        history.remove("never")
