"""Conversations from elsewhere: stored clean, with their sources as cards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from chat.accounts.links import the_owner
from chat.importing import ImportRefused, import_conversation
from chat.models import Conversation, Message, Source, User

pytestmark = pytest.mark.django_db


def marker(*titles: str) -> str:
    sources = [
        {"index": n, "title": title, "url": f"https://e.org/{n}"}
        for n, title in enumerate(titles, start=1)
    ]
    return f"\n\n<!--SOURCES:{json.dumps(sources)}-->"


def imported(owner: User, answer: str) -> Message:
    told = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": answer}]
    import_conversation(owner, told)
    return Message.objects.get(role="assistant")


def titles() -> list[str]:
    return list(Source.objects.order_by("number").values_list("title", flat=True))


@pytest.mark.parametrize(
    ("answer", "clean", "cards"),
    [
        ("Ice floats[1]." + marker("Ice --> floats <!--SOURCES:"), "Ice floats.", 1),
        ('Ice floats[1].\n\n<!--SOURCES:[{"index":1,"title":"Wh', "Ice floats.", 0),
        (f"One[1].{marker('A')}\n\nTwo[1].{marker('B', 'C')}", "One.\n\nTwo.", 2),
        (
            "The tag `<!--SOURCES:` hides JSON[1]." + marker("A"),
            "The tag `<!--SOURCES:` hides JSON.",
            1,
        ),
        ("Ice.\n\n### Sources\n1. [A](https://a.org)\n2. [B](https://b.org)\n", "Ice.", 2),
        ("### Sources of error\nThe scale[1].", "### Sources of error\nThe scale.", 0),
        (marker("A").strip(), "", 1),
    ],
)
def test_what_the_model_will_see_is_clean_and_the_cards_are_there(
    alice: User, answer: str, clean: str, cards: int
) -> None:
    message = imported(alice, answer)
    assert re.sub(r"\n{3,}", "\n\n", message.model_text.strip()) == clean
    assert Source.objects.count() == cards
    assert "SOURCES:[" not in message.text


def test_the_title_of_a_card_is_shown_as_it_was(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    imported(alice, "Ice floats[1]." + marker("Ice --> floats <!--SOURCES:"))
    assert titles() == ["Ice --> floats <!--SOURCES:"]
    html = browser_of(alice).get(f"/c/{Conversation.objects.get().pk}/").content.decode()
    assert "Ice --&gt; floats &lt;!--SOURCES:" in html
    assert 'class="citation"' in html


def test_a_conversation_that_begins_with_an_answer_keeps_it(alice: User) -> None:
    told = [{"role": "assistant", "content": "Hello."}, {"role": "assistant", "content": "Again."}]
    import_conversation(alice, told)
    spoken = Message.objects.exclude(model_text="").values_list("model_text", flat=True)
    assert list(spoken) == ["Hello.", "Again."]


@pytest.mark.parametrize(
    "told",
    [
        None,
        3,
        "text",
        {},
        {"messages": "x"},
        [3],
        [{"role": "system", "content": "x"}],
        [{"role": "user"}],
        [{"role": "user", "content": ["x"]}],
    ],
)
def test_what_is_no_conversation_is_refused_whole(alice: User, told: Any) -> None:
    with pytest.raises(ImportRefused):
        import_conversation(alice, told)
    assert Conversation.objects.count() == 0


def test_the_command_imports_a_file_as_the_owner(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(
        json.dumps([{"role": "user", "content": "Hi", "created_at": "2024-05-01T10:00"}])
    )
    out = StringIO()
    call_command("import_conversation", str(file), stdout=out)
    assert "1 messages imported" in out.getvalue()
    message = Message.objects.get()
    assert message.conversation.owner == the_owner()
    assert message.created_at.year == 2024


@pytest.mark.parametrize("content", ["{", "[1]"])
def test_the_command_says_what_is_wrong_with_a_file(tmp_path: Path, content: str) -> None:
    file = tmp_path / "talk.json"
    file.write_text(content)
    with pytest.raises(CommandError, match=r"talk\.json"):
        call_command("import_conversation", str(file))
