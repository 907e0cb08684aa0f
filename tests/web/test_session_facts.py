"""The folder, the name and the style of a conversation, and what a new question takes along."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from chat.agent.prompts import wording
from chat.answers import answer_json
from chat.database import in_database
from chat.library import ensure_sample_library
from chat.library.index import scan_folder
from chat.library_models import LibraryFolder
from chat.models import Conversation, Run, User
from chat.session import folders_of, session_text
from chat.working import working_of
from tests.servers.model_script import call, say

pytestmark = pytest.mark.django_db(transaction=True)

Folders = Callable[..., LibraryFolder]


@pytest.fixture
def folder(tmp_path: Path) -> Folders:
    """Makes a folder of a person's library, with one document for each text."""

    def make(owner: User, name: str, **texts: str) -> LibraryFolder:
        path = tmp_path / owner.username / name
        path.mkdir(parents=True)
        for title, text in texts.items():
            (path / f"{title}.md").write_text(f"# {title}\n\n{text}\n")
        row = LibraryFolder.objects.create(owner=owner, path=str(path))
        scan_folder(row)
        return row

    return make


@pytest.fixture
def reports(folder: Folders, alice: User) -> LibraryFolder:
    return folder(
        alice,
        "reports",
        Glaciers="Glaciers of the north lost ice in every summer of the survey.",
        Harbours="Harbours were deepened so that larger ships could enter at low tide.",
    )


@pytest.fixture
def letters(folder: Folders, alice: User) -> LibraryFolder:
    return folder(alice, "letters", Winter="The ice on the lake carried us and the horses.")


async def last_run() -> Run:
    rows = Run.objects.select_related("question", "answer", "conversation").order_by("-pk")
    return await in_database(lambda: rows[0])()


async def test_the_folder_that_was_chosen_is_searched_alone(
    page_of: Any, alice: User, model: Any, reports: LibraryFolder, letters: LibraryFolder
) -> None:
    model([call("search_library", query="ice"), say("Yes.")])
    page = await page_of(alice)
    await page.ask("What of the ice?", session="1", folder=str(letters.pk))
    run = await last_run()
    assert run.conversation.folder_id == letters.pk
    told = await in_database(answer_json)(run)
    assert [source["title"] for source in told["sources"]] == ["Winter"]


async def test_two_questions_on_one_folder_share_no_chunk(
    page_of: Any, alice: User, model: Any, reports: LibraryFolder, letters: LibraryFolder
) -> None:
    """The folder stays, what was found for the first question goes."""
    model(
        [
            call("search_library", query="glaciers survey"),
            say("Ice was lost."),
            call("search_library", query="harbours ships"),
            say("They were deepened."),
        ]
    )
    page = await page_of(alice)
    heard = await page.ask("What of glaciers?", session="1", folder=str(reports.pk))
    first = await in_database(working_of)(await last_run())
    more = {"conversation": heard[0]["conversation"], "client_id": "c-2"}
    await page.ask("And of harbours?", session="1", folder=str(reports.pk), **more)
    run = await last_run()
    second = await in_database(working_of)(run)
    assert run.conversation.folder_id == reports.pk
    assert [chunk.title for chunk in first.chunks] == ["Glaciers"]
    assert [chunk.title for chunk in second.chunks] == ["Harbours"]
    assert (second.job, second.draft) == ("And of harbours?", "They were deepened.")


async def test_the_facts_stand_in_the_stable_part_of_the_prompt(
    page_of: Any, alice: User, model: Any, reports: LibraryFolder
) -> None:
    server = model([say("Hello."), say("Again.")])
    page = await page_of(alice)
    facts = {
        "session": "1",
        "name": "Ana",
        "style": "briefly,\nin tables",
        "folder": str(reports.pk),
    }
    heard = await page.ask("One?", **facts)
    await page.ask("Two?", client_id="c-2", conversation=heard[0]["conversation"])
    systems = [request.body["messages"][0]["content"] for request in server.requests]
    assert systems[0] == systems[1]
    assert systems[0].startswith(wording("system"))
    told = systems[0].partition(wording("session"))[2].strip()
    assert told.splitlines() == [
        "- Call the person: Ana",
        "- Answer in this style: briefly, in tables",
        "- `search_library` searches the folder that they chose alone: reports",
    ]


async def test_without_any_the_prompt_says_nothing_of_them(
    page_of: Any, alice: User, model: Any
) -> None:
    server = model([say("Hello.")])
    page = await page_of(alice)
    await page.ask("One?", session="1", folder="", name="", style="")
    assert wording("session") not in server.requests[0].body["messages"][0]["content"]


async def test_what_is_emptied_is_taken_back_and_what_is_not_sent_stays(
    page_of: Any, alice: User, model: Any
) -> None:
    model([say("One."), say("Two."), say("Three.")])
    page = await page_of(alice)
    heard = await page.ask("One?", session="1", name="Ana", style="briefly")
    on = {"conversation": heard[0]["conversation"]}
    await page.ask("Two?", client_id="c-2", **on)
    assert (await last_run()).conversation.name == "Ana"
    await page.ask("Three?", client_id="c-3", session="1", style="briefly", **on)
    conversation = (await last_run()).conversation
    assert (conversation.name, conversation.style) == ("", "briefly")


@pytest.mark.parametrize(("keep", "name"), [({"keep": "1"}, "Ana"), ({}, "")])
def test_a_new_question_keeps_the_folder_and_asks_about_the_rest(
    browser_of: Any, alice: User, reports: LibraryFolder, keep: dict[str, str], name: str
) -> None:
    ensure_sample_library()
    before = Conversation.objects.create(owner=alice, folder=reports, name="Ana", style="briefly")
    browser: Client = browser_of(alice)
    left = browser.get(f"/c/{before.pk}/").content.decode()
    assert f'href="/?from={before.pk}"' in left
    page = browser.get(f"/?from={before.pk}").content.decode()
    assert f'<option value="{reports.pk}" selected>reports</option>' in page
    assert "Keep the name “Ana” and the style “briefly”" in page
    assert "turn-" not in page
    form = {"session": "1", "folder": reports.pk, "name": "Ana", "style": "briefly"}
    browser.post("/ask/", form | {"text": "New?", "client_id": "n-1", "asks_to_keep": "1"} | keep)
    begun = Conversation.objects.exclude(pk=before.pk).get()
    assert (begun.folder_id, begun.name) == (reports.pk, name)


def test_where_nothing_else_was_chosen_nothing_is_asked(
    browser_of: Any, alice: User, reports: LibraryFolder
) -> None:
    before = Conversation.objects.create(owner=alice, folder=reports)
    assert "asks_to_keep" not in browser_of(alice).get(f"/?from={before.pk}").content.decode()


def test_there_is_a_choice_where_there_is_more_than_one_folder(
    browser_of: Any, alice: User, reports: LibraryFolder
) -> None:
    assert folders_of(alice) == []
    assert 'id="folder"' not in browser_of(alice).get("/").content.decode()
    ensure_sample_library()
    assert [one.label for one in folders_of(alice)] == ["reports", "Sample library"]
    assert 'id="folder"' in browser_of(alice).get("/").content.decode()


async def test_a_strangers_folder_cannot_be_chosen_or_seen(
    page_of: Any, alice: User, charlie: User, model: Any, reports: LibraryFolder
) -> None:
    model([say("No.")])
    page = await page_of(charlie)
    refused = (await page.ask("Ice?", session="1", folder=str(reports.pk)))[-1]
    assert refused["code"] == "unknown"
    assert await in_database(Conversation.objects.count)() == 0
    assert await in_database(folders_of)(charlie) == []


def test_a_strangers_conversation_gives_a_new_question_nothing(
    browser_of: Any, alice: User, charlie: User
) -> None:
    before = Conversation.objects.create(owner=alice, name="Ana", style="briefly")
    page = browser_of(charlie).get(f"/?from={before.pk}").content.decode()
    assert "Ana" not in page


def test_a_folder_that_is_taken_out_is_no_longer_chosen(
    alice: User, reports: LibraryFolder
) -> None:
    row = Conversation.objects.create(owner=alice, folder=reports)
    reports.delete()
    row.refresh_from_db()
    assert (row.folder_id, session_text(row)) == (None, "")


async def test_a_secret_is_no_name_and_no_style(page_of: Any, alice: User, model: Any) -> None:
    model([say("No.")])
    page = await page_of(alice)
    refused = (await page.ask("Hi?", session="1", style="my password is hunter2"))[-1]
    assert refused["code"] == "invalid"
    assert "password" in refused["message"]
    assert await in_database(Conversation.objects.count)() == 0
