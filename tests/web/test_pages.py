"""Every page, for its owner and for a stranger; and the way to ask without a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chat import store
from chat.accounts.links import new_link
from chat.agent.events import RunFinished, SourceFound, StepStarted, TextAdded
from chat.agent.values import Source as FoundSource
from chat.agent.values import Span
from chat.citing import citations_of
from chat.library import ensure_sample_library
from chat.models import Conversation, LibraryDocument, Message, Run, Source, User
from tests.web.conftest import begun

pytestmark = pytest.mark.django_db

SNAPSHOT = "Ice is less dense than water.\n\nLakes freeze from above."


def answered(
    owner: User, text: str = "Ice floats [1].", question: str = "Why?", **more: Any
) -> Run:
    """A turn with an answer that cites the first of two sources."""
    run = begun(owner, question, **more)
    sources = [
        FoundSource(
            number=number,
            title=title,
            url=url,
            domain="example.org",
            text=SNAPSHOT,
            read_at=timezone.now(),
            provider="Test",
            passages=(Span(0, 29), Span(31, len(SNAPSHOT))),
        )
        for number, title, url in (
            (1, "Why ice floats", "https://example.org/ice"),
            (2, "", "javascript:alert(1)"),
        )
    ]
    events = [StepStarted(1), *map(SourceFound, sources), TextAdded(text)]
    store.append_events(run.pk, 0, events)
    end = store.Ending(
        status="complete", text=text, citations=citations_of(text, sources)[0], model_name="m"
    )
    store.end_run(run.pk, len(events), [RunFinished(status="complete")], end)
    return Run.objects.get(pk=run.pk)


def test_pages_forbid_everything_from_other_hosts(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    response = browser_of(alice).get(f"/c/{answered(alice).conversation_id}/")
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "unsafe" not in policy
    html = response.content.decode()
    assert "<script>" not in html
    assert " style=" not in html


def test_a_conversation_shows_question_answer_badge_and_cards(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(alice)
    html = browser_of(alice).get(f"/c/{run.conversation_id}/").content.decode()
    assert 'class="citation"' in html
    assert f'href="#m{run.answer_id}-source-1"' in html
    assert f'id="m{run.answer_id}-source-1"' in html
    assert html.index("Why ice floats") < html.index("1 more found, not cited")


def test_the_page_costs_the_same_queries_for_one_turn_and_for_thirty(
    alice: User, browser_of: Callable[[User], Client], django_assert_num_queries: Any
) -> None:
    client = browser_of(alice)
    one = answered(alice)
    many = answered(alice)
    for _ in range(29):
        answered(alice, conversation=many.conversation_id)
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def count(pk: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(f"/c/{pk}/").status_code == 200
        return len(queries)

    count(one.conversation_id)  # the first look of a session is noted
    assert count(one.conversation_id) == count(many.conversation_id)


def test_a_long_conversation_shows_its_end_and_leads_to_the_rest(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    first = answered(alice, question="Question 0?")
    for index in range(1, 45):
        answered(alice, question=f"Question {index}?", conversation=first.conversation_id)
    client = browser_of(alice)
    html = client.get(f"/c/{first.conversation_id}/").content.decode()
    assert html.count('<article class="turn"') == 30
    assert ">Question 44?<" in html
    assert ">Question 3?<" not in html
    before = html.split("?before=")[1].split('"')[0]
    earlier = client.get(
        f"/c/{first.conversation_id}/?before={before}", headers={"X-Fragment": "1"}
    ).content.decode()
    assert ">Question 0?<" in earlier
    assert ">Question 14?<" in earlier
    assert ">Question 15?<" not in earlier
    assert "<html" not in earlier


# --- Sources ------------------------------------------------------------------------------------


def test_a_source_shows_its_passages_and_where_it_came_from(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(alice, "Ice is less dense than water [1].")
    client = browser_of(alice)
    page = client.get(f"/runs/{run.pk}/sources/1/").content.decode()
    assert 'href="https://example.org/ice"' in page
    assert "<mark>Ice is less dense than water</mark>" in page
    fragment = client.get(f"/runs/{run.pk}/sources/1/", headers={"X-Fragment": "1"})
    assert b"<html" not in fragment.content


def test_a_preview_shows_the_passage_that_the_claim_rests_on(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(alice)
    for claim, passage in (("lakes freeze from", "Lakes freeze"), ("less dense", "less dense")):
        html = (
            browser_of(alice)
            .get(
                f"/runs/{run.pk}/sources/1/",
                {"preview": "1", "claim": claim},
                headers={"X-Fragment": "1"},
            )
            .content.decode()
        )
        assert html.count("<blockquote") == 1
        assert passage.casefold() in html.casefold().replace("<mark>", "").replace("</mark>", "")


def test_a_dangerous_address_is_text_and_no_link(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(alice)
    for headers in ({}, {"X-Fragment": "1"}):
        html = browser_of(alice).get(f"/runs/{run.pk}/sources/2/", headers=headers).content.decode()
        assert 'href="javascript' not in html
        assert "javascript:alert(1)" in html
    page = browser_of(alice).get(f"/c/{run.conversation_id}/").content.decode()
    assert "javascript:" not in page


def test_a_source_without_a_title_is_called_by_its_domain(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(alice)
    page = browser_of(alice).get(f"/c/{run.conversation_id}/").content.decode()
    assert 'dir="auto">example.org</span>' in page


def test_hostile_titles_and_texts_are_escaped(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(alice, question="<script>alert(1)</script>")
    Source.objects.filter(run=run).update(title="<img src=x onerror=alert(1)>", snapshot="<b>x</b>")
    client = browser_of(alice)
    for path in (f"/c/{run.conversation_id}/", f"/runs/{run.pk}/sources/1/", "/"):
        html = client.get(path).content.decode()
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "<b>x</b>" not in html


def test_a_document_of_the_sample_library_is_everybodys(
    charlie: User, browser_of: Callable[[User], Client]
) -> None:
    ensure_sample_library()
    document = LibraryDocument.objects.filter(path__contains="why-ice-floats").first()
    response = browser_of(charlie).get(f"/library/{document.pk}")
    assert response.status_code == 200
    assert document.title in response.content.decode()


# --- Small things one can do ---------------------------------------------------------------------


def test_a_conversation_can_be_renamed_and_deleted(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(alice)
    client = browser_of(alice)
    client.post(f"/c/{run.conversation_id}/rename/", {"title": "  About \n ice "})
    assert Conversation.objects.get().title == "About ice"
    client.post(f"/c/{run.conversation_id}/rename/", {"title": "   "})
    assert Conversation.objects.get().title == "About ice"
    client.post(f"/c/{run.conversation_id}/delete/")
    for table in (Conversation, Message, Run, Source):
        assert table.objects.count() == 0


def test_a_question_in_the_address_is_put_into_the_box_and_not_asked(
    alice: User, browser_of: Callable[[User], Client]
) -> None:
    html = browser_of(alice).get("/?q=Why%20%3Cb%3E%3F").content.decode()
    assert "Why &lt;b&gt;?</textarea>" in html
    assert Run.objects.count() == 0


@pytest.mark.parametrize("before", ["0", "x", "-1", "99999999999999999999999", "¹"])
def test_a_strange_place_to_begin_is_the_end(
    alice: User, browser_of: Callable[[User], Client], before: str
) -> None:
    run = answered(alice)
    response = browser_of(alice).get(f"/c/{run.conversation_id}/", {"before": before})
    assert response.status_code == 200
    assert b"Ice floats" in response.content


# --- Signing in ---------------------------------------------------------------------------------


def test_a_sign_in_link_works_once_and_only_by_post(alice: User) -> None:
    path = f"/sign-in/{new_link(alice)}/"
    client = Client()
    for _ in range(2):
        assert client.get(path).status_code == 200
    assert client.get("/").status_code == 302
    assert client.post(path).status_code == 302
    assert client.get("/").status_code == 200
    assert Client().post(path).status_code == 410
    assert Client().get(path).status_code == 410


def test_a_sign_in_link_ends_after_fifteen_minutes(alice: User) -> None:
    token = new_link(alice)
    alice.sign_in_links.update(expires_at=timezone.now())
    assert Client().post(f"/sign-in/{token}/").status_code == 410


def test_the_token_itself_is_not_stored(alice: User) -> None:
    token = new_link(alice)
    assert token not in str(list(alice.sign_in_links.values()))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "192.168.1.20:8000"])
def test_signing_in_works_on_every_allowed_host_with_csrf_checks(
    alice: User, settings: Any, host: str
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "192.168.1.20"]
    alice.set_password("correct horse battery")
    alice.save()
    client = Client(enforce_csrf_checks=True, headers={"host": host})
    page = client.get("/sign-in/")
    token = page.content.decode().split('csrfmiddlewaretoken" value="')[1].split('"')[0]
    form = {"username": "alice", "password": "correct horse battery", "csrfmiddlewaretoken": token}
    origin = {"origin": f"http://{host}"}
    assert client.post("/sign-in/", form, headers=origin).status_code == 302
    assert client.post("/sign-in/", form, headers={"origin": "http://evil"}).status_code == 403
