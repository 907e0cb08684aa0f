"""Where lines came from: what is new, and what goes when a message goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.engine.lineage import Version, line_ages, without_lines, without_source


def test_lines_that_stay_keep_their_age() -> None:
    assert line_ages("a\nb\n", [1, 2, 2], "a\nx\nb\n", 3) == [1, 3, 2, 2]
    assert line_ages("", [], "a\n", 1) == [1, 0]


def test_a_message_takes_its_lines_out_of_every_later_text() -> None:
    versions = [
        Version("- Name: Ana\n", 1),
        Version("- Name: Ana\n- Likes tea\n", 2),
        Version("- Name: Ana\n- Likes tea\n- Lives in Kraków\n", 3),
    ]
    assert without_source(versions, 2) == [
        "- Name: Ana\n",
        None,
        "- Name: Ana\n- Lives in Kraków\n",
    ]


def test_a_correction_outlives_the_message_it_corrected() -> None:
    versions = [Version("- Name: Kacper\n", 1), Version("- Name: Kasper\n", 2)]
    assert without_source(versions, 1) == [None, "- Name: Kasper\n"]
    assert without_source(versions, 2) == ["- Name: Kacper\n", None]


def test_what_somebody_added_to_a_line_goes_with_it() -> None:
    versions = [Version("- Works at Acme\n", 1), Version("- Works at Acme in Berlin\n", None)]
    assert without_source(versions, 1) == [None, ""]


def test_a_text_that_was_brought_back_is_still_the_messages() -> None:
    versions = [
        Version("- Name: Kacper\n", 1),
        Version("- Name: Kasper\n", 2),
        Version("- Name: Kacper\n", None),
        Version("- Name: Kacper\n- Likes tea\n", 3),
    ]
    assert without_source(versions, 1) == [None, "- Name: Kasper\n", "", "- Likes tea\n"]


def test_forgotten_lines_go_with_what_stood_under_their_label_before() -> None:
    versions = [Version("- Name: Kacper\n- Tea\n"), Version("- Name: Kasper\n- Tea\n")]
    assert without_lines(versions, ["- Name: Kasper"]) == ["- Tea\n", "- Tea\n"]


SAID = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=1, max_size=3)


@given(st.lists(st.tuples(SAID, st.booleans()), min_size=1, max_size=6), st.data())
def test_no_word_that_only_a_message_said_is_left(
    history: list[tuple[list[str], bool]], data: st.DataObject
) -> None:
    """Each revision adds a line of its own words or edits the last one; one of them goes."""
    versions: list[Version] = []
    text = ""
    for number, (words, edits) in enumerate(history):
        told = " ".join(f"{word}{number}" for word in words)
        lines = text.split("\n")[:-1]
        if edits and lines:
            lines[-1] = f"{lines[-1]} {told}"
        else:
            lines.append(f"- {told}")
        text = "\n".join(lines) + "\n"
        versions.append(Version(text, number))
    gone = data.draw(st.sampled_from(range(len(history))))
    left = without_source(versions, gone)
    assert left[gone] is None
    said = [f"{word}{gone}" for word in history[gone][0]]
    assert not any(word in (one or "").split() for one in left for word in said)
