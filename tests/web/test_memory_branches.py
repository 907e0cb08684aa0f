"""Only the path of the head counts: what other branches say, close or count stays theirs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.engine import History
from memory.stored import writing
from memory.stored.indexing import forget_index, index_path
from memory.stored.recalling import recall
from tests.web.stored_sessions import PlainMessages, conversation_of, said

pytestmark = pytest.mark.django_db

PAGE = "def size():\n    return 10\n\ndef name():\n    return 'otter'\n"
QUESTIONS = (
    "What is my editor?",
    "What was the size before?",
    "How many files were read?",
    "and then?",
    "otter",
)


def edit(old, new):
    args = {"old_string": old, "new_string": new}
    return said("Done.", "tool", tool="edit_file", target="a.py", args=args)


def read(text=PAGE, target="a.py", **values):
    return said(text, "tool", tool="read_file", target=target, **values)


MESSAGES = st.sampled_from(
    [
        said("My editor is Vim."),
        said("My editor is Helix."),
        said("The otter sleeps. It likes kelp.", "assistant"),
        said("ok"),
        said(" "),
        said("My dog is Otto.", speaker="Ana"),
        read(),
        read(PAGE.replace("10", "20")),
        read("", target="b.py", ok=False),
        read(target="b.py"),
        edit("    return 10", "    return 20"),
        edit("def size():\n    return 20", "def size():\n    return 30"),
        said("3 passed\notter failed", "tool", tool="run_tests", target="tests"),
        said("4 passed", "tool", tool="run_tests", target="tests", ok=False),
        said("Otters: 3 hits", "tool", tool="web_search", args={"query": "otters"}),
    ]
)
STEP = st.tuples(st.integers(0, 6), st.lists(MESSAGES, min_size=1, max_size=5))
"""From which of the newest messages to branch off, and what is said there."""


def grown(reader, conversation, steps):
    """The heads of all branches, each with its path as the engine reads it."""
    paths = [(None, [])]
    for back, messages in steps:
        parent, before = paths[max(0, len(paths) - 1 - back)]
        for message in messages:
            (told,), parent = reader.put(conversation, [message], parent)
            before = [*before, told]
            paths.append((parent, before))
    return paths[1:]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(writing, "PARTS_A_BLOCK", 3)


def same_as_in_memory(reader, owner, conversation, head, path, **options):
    history = History(path)
    for question in QUESTIONS:
        for budget in (30, 300):
            expected = history.pack(question, budget, first_source=1, **options)
            found = recall(reader, owner.pk, conversation.pk, head.pk, question, budget, **options)
            assert found == expected


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(STEP, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_every_branch_is_recalled_as_if_it_were_alone(alice, small_blocks, steps, random):
    reader, conversation = PlainMessages(), conversation_of(alice)
    paths = grown(reader, conversation, steps)
    random.shuffle(paths)
    for head, _ in paths[:3]:
        index_path(reader, alice.pk, conversation.pk, head.pk)
    for head, path in paths[-4:]:
        same_as_in_memory(reader, alice, conversation, head, path)


def test_an_older_head_sees_open_what_was_closed_after_it(alice):
    reader, conversation = PlainMessages(), conversation_of(alice)
    told, head = reader.put(conversation, [said("My editor is Vim."), read()])
    more, newest = reader.put(
        conversation, [said("My editor is Helix."), edit("return 10", "return 20")], head
    )
    index_path(reader, alice.pk, conversation.pk, newest.pk)
    same_as_in_memory(reader, alice, conversation, head, told)
    same_as_in_memory(reader, alice, conversation, newest, told + more)


def test_a_question_that_leans_on_an_answer_leans_on_no_talk_before_an_empty_one(alice):
    reader, conversation = PlainMessages(), conversation_of(alice)
    told, head = reader.put(
        conversation, [said("My dog is Otto."), said(" "), said("It likes kelp.", "assistant")]
    )
    same_as_in_memory(reader, alice, conversation, head, told)


def test_what_the_model_sees_anyway_is_left_out_alike(alice):
    reader, conversation = PlainMessages(), conversation_of(alice)
    told, head = reader.put(conversation, [said("otter one"), said("otter two"), said("seal")])
    shown = [told[1].id, "m999999", "s1"]
    same_as_in_memory(reader, alice, conversation, head, told, shown=shown)


def test_a_forgotten_index_is_built_anew_by_the_next_recall(alice):
    reader, conversation = PlainMessages(), conversation_of(alice)
    told, head = reader.put(conversation, [said("otter one"), read()])
    same_as_in_memory(reader, alice, conversation, head, told)
    forget_index(conversation.pk)
    same_as_in_memory(reader, alice, conversation, head, told)
