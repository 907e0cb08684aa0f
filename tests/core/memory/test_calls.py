import pytest

from memory.engine.asking import asks_past
from memory.engine.calls import read_call
from tests.core.memory.builders import said, shown, tool


@pytest.mark.parametrize(
    "question",
    [
        "What was MAX_SIZE before?", "What did it use to be?", "What was the old value?",
        "What changed?", "How has the limit changed?", "What was the limit as of May?",
        "What is the difference now?", "¿Qué valor tenía antes?", "Was war es vorher?",
        "以前的值是什么？", "Каким было прежнее значение?",
    ],
)  # fmt: skip
def test_a_question_on_the_past_is_known(question):
    assert asks_past(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is MAX_SIZE?", "What is MAX_SIZE set to now?", "What is it after the edit?",
        "Where is the file you read earlier?", "Who updated the page?", "How old is Ana?",
        "What is the current limit, not the one from before... now?".replace("before", "then"),
    ],
)  # fmt: skip
def test_a_question_on_the_present_is_not_taken_for_one(question):
    assert not asks_past(question)


@pytest.mark.parametrize(
    ("name", "args", "kind"),
    [
        ("read_file", {"offset": 3}, "read"),
        ("Read", None, "read"),
        ("str_replace", {"old_str": "a", "new_str": "b"}, "change"),
        ("Edit", {"old_string": "a", "new_string": "b"}, "change"),
        ("WriteFile", {"content": "a"}, "change"),
        ("bash", {"command": "ls"}, "run"),
        ("run_tests", None, "run"),
        ("web_search", {"query": "ice"}, "search"),
        ("Grep", {"pattern": "ice"}, "search"),
    ],
)
def test_a_tool_is_known_by_its_name_and_arguments(name, args, kind):
    assert read_call(tool("text", name, "x", args=args)).kind == kind


def test_talk_is_no_call():
    assert read_call(said("read_file")) is None


def test_a_search_is_listed_by_what_was_searched_for():
    history = [
        tool("hits", "grep", "src/", args={"pattern": pattern}) for pattern in ("ice", "fog")
    ]
    assert "Searches made (2): ice, fog" in shown(history, "Which searches did you make?")


def test_a_target_may_be_among_the_arguments():
    call = read_call(tool("x", "read_file", None, args={"path": "src/a.py", "offset": 1}))
    assert call.target == call.named == "src/a.py"
