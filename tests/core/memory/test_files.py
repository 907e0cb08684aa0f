"""Memory files: where they may lie, how they are read and printed, and how they change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.engine.files import (
    FileRefused,
    MemoryText,
    append,
    clean,
    label_of,
    normal_path,
    parse,
    print_file,
    replace,
    unified_diff,
)

# --- Where a file may lie -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_path", "path"),
    [
        ("AGENTS.md", "AGENTS.md"),
        ("agents.md", "AGENTS.md"),
        ("./knowledge//user.md", "knowledge/user.md"),
        ("Knowledge/Projects/API-Project.md", "knowledge/projects/api-project.md"),
        ("skills/cafe\u0301.md", "skills/café.md"),
        ("conversations/summaries/2026-03.md", "conversations/summaries/2026-03.md"),
        ("knowledge/日本.md", "knowledge/日本.md"),
    ],
)
def test_a_path_has_one_form(given_path: str, path: str) -> None:
    assert normal_path(given_path) == path
    assert normal_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd.md",
        "knowledge/../../x.md",
        "knowledge/../AGENTS.md",
        "/etc/passwd.md",
        "~/x.md",
        "knowledge\\user.md",
        "C:/knowledge/x.md",
        "knowledge/a\x00.md",
        "knowledge/a\nb.md",
        "knowledge/\u202egnp.md",
        "knowledge/.git/x.md",
        "knowledge/x.md ",
        "knowledge/user.txt",
        "knowledge",
        "knowledge/",
        "",
        "notes/user.md",
        "user.md",
        "conversations/x.md",
        "knowledge/a /b.md",
        "knowledge/" + "a" * 300 + ".md",
        "knowledge/" + "a" * 90 + ".md",
        "knowledge/a/b/c/d/e/f/g.md",
        "knowledge/what?.md",
    ],
)
def test_a_path_out_of_the_tree_is_refused_with_a_reason(path: str) -> None:
    if path == "knowledge/x.md ":
        assert normal_path(path) == "knowledge/x.md"
        return
    with pytest.raises(FileRefused) as refused:
        normal_path(path)
    assert str(refused.value).endswith(".")


@given(st.text(max_size=40))
def test_whatever_is_taken_stays_in_the_tree(text: str) -> None:
    for given_path in (text, f"knowledge/{text}.md"):
        try:
            path = normal_path(given_path)
        except FileRefused:
            continue
        assert path == "AGENTS.md" or path.split("/")[0] in {"knowledge", "skills", "conversations"}
        assert ".." not in path.split("/")
        assert normal_path(path) == path


# --- The format ---------------------------------------------------------------------------------

KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
VALUES = st.text("ab: -#é\u3042\"'", max_size=12).map(str.strip)
BODIES = st.text("a-:\n #*é ", max_size=40)


@given(st.lists(st.tuples(KEYS, VALUES), max_size=6), BODIES)
def test_a_printed_file_is_read_as_the_same_file(front: list[tuple[str, str]], body: str) -> None:
    file = MemoryText(body, tuple(front))
    assert parse(print_file(file)) == file


@given(BODIES, st.sampled_from(["", "---\n", "---\na: b\n---\n", "---\nno front\n---\n"]))
def test_a_text_that_is_read_and_printed_is_read_the_same_again(body: str, before: str) -> None:
    file = parse(before + body)
    assert parse(print_file(file)) == file
    assert print_file(parse(print_file(file))) == print_file(file)


def test_a_front_matter_says_what_is_pinned_and_when_a_skill_applies() -> None:
    file = parse("---\npinned: yes\ntrigger: plan, build\n---\n# Planning\n")
    assert (file.pinned, file.trigger, file.body) == (True, "plan, build", "# Planning\n")
    assert parse('# Plan\n\n**Trigger**: asks to "build"\n').trigger == 'asks to "build"'
    assert not parse("pinned: yes\n").pinned


@given(st.text(max_size=60))
def test_clean_text_is_clean(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert "\r" not in once
    assert not once or (once.endswith("\n") and not once.endswith("\n\n"))


# --- Changing -----------------------------------------------------------------------------------


def test_appended_lines_stand_at_the_end_and_never_twice() -> None:
    text = append("", "- Name: Ana").text
    text = append(text, "- Likes tea").text
    assert text == "- Name: Ana\n- Likes tea\n"
    assert append(text, "- Likes tea").text == text
    assert append(text, "A sentence.").text == "- Name: Ana\n- Likes tea\n\nA sentence.\n"


def test_a_line_with_the_same_label_takes_the_place_of_the_old_one() -> None:
    before = "# Person\n\n- Name: Kacper\n- Lives in: Kraków\n"
    done = append(before, "- **Preferred name:** Kasper")
    assert done.text == "# Person\n\n- **Preferred name:** Kasper\n- Lives in: Kraków\n"
    assert done.replaced == ("- Name: Kacper",)


def test_lines_under_a_known_heading_join_its_section() -> None:
    before = "# Me\n\n- One\n\n# Other\n\n- Two\n"
    assert append(before, "# Me\n- Three").text == "# Me\n\n- One\n- Three\n\n# Other\n\n- Two\n"


def test_code_is_appended_as_it_is() -> None:
    text = append("- a: 1\n", "```\n- a: 2\n- a: 2\n```").text
    assert text == "- a: 1\n\n```\n- a: 2\n- a: 2\n```\n"


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("- Name: Ana", "name"),
        ("User's name: Ana", "name"),
        ("- **Time zone**: CET", "time zone"),
        ("名前：健太", "名前"),
        ("- https://example.org", ""),
        ("- At 5:30", ""),
        ("A long sentence that says this: that", ""),
        ("- no label", ""),
    ],
)
def test_a_label_is_a_few_words_before_a_colon(line: str, label: str) -> None:
    assert label_of(line) == label


def test_a_replaced_text_must_occur_exactly_once() -> None:
    assert replace("a b c", "b", "x") == "a x c"
    with pytest.raises(FileRefused, match="2 times"):
        replace("a b a", "a", "x")
    with pytest.raises(FileRefused, match="does not occur"):
        replace("a b a", "z", "x")
    with pytest.raises(FileRefused, match="empty"):
        replace("a b a", " ", "x")


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_a_diff_says_what_came_and_what_went(old: list[str], new: list[str]) -> None:
    diff = unified_diff("\n".join(old), "\n".join(new), "old", "new").split("\n")[2:]
    n_added = sum(line.startswith("+") for line in diff)
    n_removed = sum(line.startswith("-") for line in diff)
    assert n_added - n_removed == len(new) - len(old)
    assert (diff == []) == (old == new)
