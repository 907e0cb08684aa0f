"""What a pack leaves out because the model sees it anyway, and what it numbers to be cited."""

from hypothesis import given
from hypothesis import strategies as st

from memory.bench.packers import price_of
from memory.engine import History
from tests.core.memory.builders import filler, said, tool

PAGES = [("a", "Otters hold hands."), ("b", "Otters eat urchins."), ("a", "Otters use stones.")]


def pages(texts=PAGES):
    return [
        tool(text, "web", f"https://x.test/{name}", args={"page": number})
        for number, (name, text) in enumerate(texts)
    ]


def printed(packed):
    return "\n".join(message.content for message in packed.messages)


def test_what_the_model_sees_anyway_is_not_packed_and_counted_as_such():
    talk = [said("Otters sleep in kelp."), said("Otters like kelp too.")]
    packed = History(talk).pack("otters kelp", 200, shown=[talk[0].id, "nobody"])
    assert [line.message_id for line in packed.lines] == [talk[1].id]
    assert {left.reason: left.n_lines for left in packed.receipt.left_out} == {
        "the model sees it anyway": 1
    }


def test_what_is_seen_still_closes_what_it_replaced():
    old, new = said("My editor is Vim."), said("My editor is Helix.")
    packed = History([old, new]).pack("Which editor?", 200, shown=[new.id])
    assert packed.lines == ()


def test_pages_are_numbered_in_the_order_of_print_one_number_a_target():
    first, other, again = pages()
    packed = History([first, other, again]).pack("otters", 400, first_source=3)
    assert packed.sources == ((3, (first.id, again.id)), (4, (other.id,)))
    assert [row for row in printed(packed).splitlines() if row.startswith("source")] == [
        "source 3, web https://x.test/a:",
        "source 4, web https://x.test/b:",
        "source 3, web https://x.test/a:",
    ]


def test_without_a_first_number_nothing_is_numbered():
    packed = History(pages()).pack("otters", 400)
    assert packed.sources == ()
    assert "source" not in printed(packed)


@given(st.integers(0, 120), st.integers(1, 99_999))
def test_the_numbers_are_part_of_the_budget(budget, first):
    history = History([*pages(PAGES * 3)], count_tokens=price_of)
    packed = history.pack("otters", budget, first_source=first)
    assert sum(price_of(m.content) + 4 for m in packed.messages) == packed.n_tokens <= budget


def test_the_pressure_is_the_same_whatever_was_packed_before():
    talk = [tool("\n".join(f"row {n} of a long page" for n in range(80))), *filler(20)]
    fresh, used = History(talk), History(talk)
    used.pack("row 7", 300)
    assert fresh.pack("weather", 200).receipt == used.pack("weather", 200).receipt
