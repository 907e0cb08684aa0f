import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine import History
from memory.engine.alignment import Row
from memory.engine.calls import read_call
from memory.engine.versions import Versions, _Reading
from tests.core.memory.builders import edit, filler, said, shown, tool

PAGE = "\n".join(f"row_{n} = {n * 7}" for n in range(40))
OLD = "import os\nMAX_SIZE = 17\nMIN_SIZE = 3\nname = 'x'"
NEW = OLD.replace("17", "99")


def test_only_the_new_value_is_shown_after_a_second_reading():
    text = shown([tool(OLD), *filler(5), tool(NEW)], "What is MAX_SIZE now?", 4000)
    assert "MAX_SIZE = 99" in text
    assert "17" not in text


def test_the_newest_messages_count_too():
    history = [tool(OLD), said("Again."), tool(NEW)]
    text = shown(history, "What is MAX_SIZE now?", 4000, keep_newest=3)
    assert "MAX_SIZE = 99" in text
    assert "MAX_SIZE = 17" not in text
    assert text.count("MIN_SIZE = 3") >= 1


@pytest.mark.parametrize("question", ["What changed in MAX_SIZE?", "What was MAX_SIZE before?"])
def test_a_question_on_the_past_gets_both_in_order(question):
    text = shown([tool(OLD), *filler(5), tool(NEW)], question, 4000)
    assert text.index("MAX_SIZE = 17 (no longer so)") < text.index("MAX_SIZE = 99")


def test_two_parts_of_one_file_are_both_current():
    first, second = PAGE.splitlines()[:20], PAGE.splitlines()[20:]
    history = [
        tool("\n".join(first), args={"offset": 1, "limit": 20}),
        tool("\n".join(second), args={"offset": 21, "limit": 20}),
    ]
    text = shown(history, "row values", 4000)
    assert all(row in text for row in PAGE.splitlines())


def test_reading_a_part_again_leaves_the_rest_as_it_is():
    changed = PAGE.replace("row_12 = 84", "row_12 = 1")
    part = "\n".join(changed.splitlines()[8:18])
    history = History([tool(PAGE, args={}), tool(part, args={"offset": 9, "limit": 10})])
    text = shown(history, "all the row values", 8000)
    assert "row_12 = 84" not in text
    assert "row_12 = 1" in text
    assert all(row in text for row in PAGE.splitlines() if row != "row_12 = 84")


BRACKETS = "\n".join(
    f"def f{n}(a,\n       b{n}):\n    warn('f{n} is old '\n         'and goes',\n\n         {n})\n"
    f"    return [a,\n            b{n},\n            {n}][0]\n"
    for n in range(8)
).splitlines()


@given(st.data())
def test_reading_parts_of_a_file_that_did_not_change_closes_nothing_for_good(data):
    """Statements over several lines are cut by where a reading begins and ends."""
    readings = []
    for _ in range(data.draw(st.integers(2, 4))):
        first = data.draw(st.integers(0, len(BRACKETS) - 2))
        last = data.draw(st.integers(first + 1, len(BRACKETS)))
        args = {"offset": first + 1, "limit": last - first}
        readings.append(tool("\n".join(BRACKETS[first:last]), args=args))
    wanted = {row.strip() for reading in readings for row in reading.text.splitlines()}
    text = shown(readings, "everything", 20_000)
    assert {row.strip() for row in text.splitlines()} >= wanted - {""}


TWINS = [row for kind in ("v4", "v6") for row in (
    f"class Net_{kind}:", "    def __init__(self, address):", "        self.address = address",
    "        self.packed = pack(address)", f"        self.size = SIZE_{kind}",
    "    def hosts(self):", "        first = self.first + 1", "        last = self.last - 1",
    f"        return each_{kind}(first, last)", "    def first_free(self):",
    "        return min(self.free)", *(f"    # {kind} note {n}" for n in range(60)),
)]  # fmt: skip


def reading(rows, first, last):
    args = {"offset": first + 1, "limit": last - first}
    return tool("\n".join(rows[first:last]), args=args)


def test_two_parts_of_a_file_that_read_alike_are_both_current():
    second = TWINS.index("class Net_v6:")
    text = shown([reading(TWINS, 0, 11), reading(TWINS, second, second + 11)], "all", 4000)
    assert "self.size = SIZE_v4" in text
    assert "return each_v4(first, last)" in text


@pytest.mark.parametrize("n_before", [0, 9])
def test_a_part_that_moved_is_the_same_part(n_before):
    later = [*(f"# new {n}" for n in range(n_before)), *TWINS]
    later[later.index("        self.size = SIZE_v4")] = "        self.size = 32"
    text = shown([reading(TWINS, 0, 40), reading(later, n_before, 40 + n_before)], "all", 4000)
    assert "self.size = SIZE_v4" not in text
    assert "self.size = 32" in text


def test_where_a_reading_begins_is_known_from_its_arguments():
    def start(**args):
        return read_call(tool("x", args=args)).start

    assert start() == start(path="a.py") == start(limit=50) == 1
    assert start(offset=40, limit=10) == start(start_line="40") == start(view_range=[40, 60]) == 40
    assert start(lines="40-60") == 40
    assert start(page=2) is start(tail=20) is None


def test_an_edit_brings_the_line_up_to_date_and_keeps_the_page():
    text = shown([tool(OLD), edit("MAX_SIZE = 17", "MAX_SIZE = 99")], "What is MAX_SIZE now?", 4000)
    assert "MAX_SIZE = 99" in text
    assert "17" not in text
    assert "MIN_SIZE = 3" in text


def test_what_an_edit_took_away_is_there_when_asked_for():
    history = [tool(OLD), edit("MAX_SIZE = 17", "MAX_SIZE = 99")]
    assert "- MAX_SIZE = 17" in shown(history, "What was MAX_SIZE before the edit?", 4000)


def test_a_second_edit_closes_the_first():
    history = [tool(OLD), edit("MAX_SIZE = 17", "MAX_SIZE = 50"), edit("= 50", "= 99")]
    text = shown(history, "What is MAX_SIZE now?", 4000)
    assert "99" in text
    assert "17" not in text


def test_an_edit_of_several_rows_changes_only_those():
    new = "MAX_SIZE = 99\nMID_SIZE = 20"
    history = [tool(OLD), edit("MAX_SIZE = 17\nMIN_SIZE = 3", new)]
    text = shown(history, "Which sizes are there now?", 4000)
    assert "MID_SIZE = 20" in text
    assert "MIN_SIZE = 3" not in text
    assert "name = 'x'" in text


def test_a_failed_reading_closes_nothing():
    text = shown([tool(OLD), tool("No such file.", ok=False)], "What is MAX_SIZE?", 4000)
    assert "MAX_SIZE = 17" in text
    assert "(failed)" in text


def test_only_the_newest_run_of_the_same_tests_counts():
    runs = [
        tool("12 tests\n3 failed, 9 passed", "run_tests", "tests/", ok=False),
        tool("12 tests\n1 failed, 11 passed", "run_tests", "tests/", ok=False),
    ]
    text = shown(runs, "How did the tests end?", 4000)
    assert "1 failed, 11 passed" in text
    assert "3 failed" not in text


def test_two_tools_with_one_target_do_not_close_each_other():
    history = [
        tool(OLD),
        tool("os", "list_imports", "src/a.py"),
        tool("ok", "run_lint", "src/a.py"),
    ]
    assert "MAX_SIZE = 17" in shown(history, "What is MAX_SIZE?", 4000)


def test_deleting_the_new_reading_makes_the_old_one_current_again():
    old, new = tool(OLD), tool(NEW)
    history = History([old, new])
    history.remove(new.id)
    text = shown(history, "What is MAX_SIZE now?", 4000)
    assert "MAX_SIZE = 17" in text
    assert "99" not in text


def test_reading_one_file_a_thousand_times_costs_the_same_every_time():
    """Counted, not timed: the rows that a reading is compared with are those that share a text."""
    versions = Versions()
    looked_at = []
    for number in range(300):
        call = read_call(tool("", args={"offset": number * 20, "limit": 20}))
        rows = [Row(number * 20 + at, f"row {number * 20 + at}") for at in range(20)]
        new = _Reading(call, rows)
        looked_at.append(len(versions._targets[call.target]._shared(new)) if number else 0)
        versions.note(call, rows, ok=True)
    assert set(looked_at) == {0}
    assert versions.note(call, [Row(9000, "another row")], ok=True).closed == [*range(5980, 6000)]
