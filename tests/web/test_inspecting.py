"""The page of a turn: what the model saw, what was left out, and what if."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from chat.inspecting.repacking import budgets_of, newest_only, repacked
from chat.inspecting.turn import meter_of, seen_turn
from chat.models import Conversation, Message, Run, Source, User
from memory import store as memory_store
from memory.models import Summary
from tests.web.long_turn import go_on, pack, packed_turn, reads_a_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(alice: User) -> Run:
    return packed_turn(alice)


@pytest.fixture
def client(alice: User, browser_of: Callable[[User], Client]) -> Client:
    return browser_of(alice)


@pytest.fixture(autouse=True)
def _small_window(settings) -> None:
    settings.LUMINA_WINDOW_MESSAGES = 4
    settings.LUMINA_WINDOW_SHARE = 0.5


def path_of(run: Run) -> str:
    return f"/c/{run.conversation_id}/turns/{run.pk}/"


def html_of(client: Client, run: Run, **asked: str) -> str:
    response = client.get(path_of(run), asked)
    assert response.status_code == 200
    return response.content.decode()


# --- What was seen --------------------------------------------------------------------------------


def test_everything_stands_in_the_order_of_the_prompt(client: Client, run: Run) -> None:
    html = html_of(client, run)
    titles = [
        "System text",
        "The newest messages, whole",
        "Older lines that the question needs",
        "Date and what is visible",
        "The question",
        "What the steps added",
        "What was left out",
    ]
    places = [html.index(title) for title in titles]
    assert places == sorted(places)


def test_an_old_line_has_its_text_kind_reason_score_and_way_to_its_passage(
    client: Client, alice: User
) -> None:
    run = packed_turn(alice)
    source = Source.objects.get(url="https://boats.test/marlene")
    html = html_of(client, run)
    older = html[html.index('id="older"') : html.index("Date and what is visible")]
    assert "The keel is 2.40 metres long." in older
    assert "Web page" in older
    assert re.search(r"has [^·]*keel", older)
    assert re.search(r"score \d+\.\d{4}", older)
    assert f'href="/runs/{source.run_id}/sources/1/"' in older


def test_the_page_shows_the_lines_that_were_packed_and_no_others(run: Run) -> None:
    seen = seen_turn(run)
    shown = [line for piece in seen.pack.older for line in piece.lines]
    assert len(shown) == len(run.receipt["lines"])
    assert all(line.text for line in shown)
    assert "The keel is 2.40 metres long." in [line.text for line in shown]


def test_older_lines_stand_as_they_are_quoted_counts_then_what_was_said_then_pages(
    run: Run,
) -> None:
    refs = [piece.ref[:1] for piece in seen_turn(run).pack.older]
    assert refs == sorted(refs, key=["", "m", "s"].index)
    assert {"m", "s"} <= set(refs)


def test_a_date_stands_behind_the_word_that_meant_it(alice: User) -> None:
    run = packed_turn(alice, question="The keel of Marlene was painted yesterday. Was it?")
    texts = [line.text for piece in seen_turn(run).pack.older for line in piece.lines]
    assert any(re.search(r"painted yesterday \[\d{4}-\d\d-\d\d\]", text) for text in texts)


def test_messages_lead_to_their_place_in_the_conversation(client: Client, run: Run) -> None:
    """Those further up than the page reaches lead to the page that ends with them."""
    html = html_of(client, run)
    newest = _newest_question_before(run)
    assert f'href="/c/{run.conversation_id}/#turn-{newest}"' in html
    go_on(run.conversation_id, 80)
    address = re.search(rf'href="(/c/\d+/\?before=\d+)#turn-{newest}"', html_of(client, run))
    assert address is not None
    assert f'id="turn-{newest}"' in client.get(address[1]).content.decode()


def _newest_question_before(run: Run) -> int:
    answer = Message.objects.get(pk=run.question.parent_id)
    assert answer.parent_id is not None
    return answer.parent_id


def test_the_meter_adds_up_to_the_budget(run: Run) -> None:
    meter = seen_turn(run).pack.meter
    assert sum(one.n_tokens for one in meter.slices) == meter.budget_tokens == 1_000
    assert meter.slices[0].n_tokens > 0
    assert meter.slices[1].n_tokens > 0
    assert sum(one.width for one in meter.slices) == pytest.approx(100, abs=0.01)


@given(
    st.lists(st.integers(1, 500), max_size=6),
    st.integers(0, 800),
    st.integers(1, 5_000),
)
def test_a_meter_never_has_less_than_nothing_free(
    window: list[int], older: int, budget: int
) -> None:
    receipt = {
        "budget_tokens": budget,
        "window": [{"message": 1, "tokens": tokens} for tokens in window],
        "earlier_tokens": older,
        "total": len(window),
        "visible": len(window),
    }
    slices = meter_of(receipt).slices
    assert slices[-1].n_tokens == max(0, budget - sum(window) - older)
    assert all(one.width >= 0 for one in slices)


def test_what_was_left_out_is_counted_by_reason(client: Client, run: Run) -> None:
    html = html_of(client, run)
    left_out = html[html.index("What was left out") :]
    for reason, n in run.receipt["left_out"].items():
        assert re.search(rf"<dt>{reason}</dt><dd>{n} line", left_out)


def test_memory_files_are_named_with_their_way_and_a_deleted_one_is_not(
    client: Client, alice: User, run: Run
) -> None:
    memory_store.put(alice.pk, "knowledge/user.md", "- Name: Ana", memory_store.By())
    file = memory_store.file_of(alice.pk, "knowledge/user.md")
    assert file is not None
    note = {"file": file.pk, "tokens": 7, "left_out": 2, "skill": False}
    Run.objects.filter(pk=run.pk).update(receipt={**run.receipt, "files": [note]})
    html = html_of(client, run)
    assert f'href="/memory/{file.pk}/"' in html
    assert "2 lines left out" in html
    assert "changed since" in html
    memory_store.remove_file(alice.pk, "knowledge/user.md")
    html = html_of(client, run)
    assert "user.md</a>" not in html
    assert "A file that has been deleted since" in html


def test_a_turn_that_was_packed_again_says_so(client: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(receipt={**run.receipt, "packed_again": 1})
    assert "packed again smaller" in html_of(client, run)


def test_a_first_question_has_nothing_before_it(client: Client, alice: User) -> None:
    run = reads_a_page(alice)
    assert "Nothing was noted" in html_of(client, run)
    Run.objects.filter(pk=run.pk).update(status="running", finished_at=None)
    assert "Nothing is packed yet" in html_of(client, run)
    pack(run)
    html = html_of(client, run)
    assert "This was the first question." in html
    assert "Nothing is packed yet" not in html


def test_every_answer_leads_to_its_page(client: Client, run: Run) -> None:
    html = client.get(f"/c/{run.conversation_id}/").content.decode()
    assert f'href="{path_of(run)}">What the model sees' in html
    Run.objects.filter(pk=run.pk).update(status="complete", finished_at=run.started_at)
    html = client.get(f"/c/{run.conversation_id}/").content.decode()
    assert f'href="{path_of(run)}">What the model saw' in html


# --- What is no longer there ----------------------------------------------------------------------


def test_a_deleted_message_is_not_shown_and_its_place_says_so(client: Client, run: Run) -> None:
    newest = run.receipt["window"][-1]["message"]
    text = Message.objects.get(pk=newest).model_text
    assert text in html_of(client, run)
    Message.objects.filter(pk=run.question_id).update(parent=None)
    Message.objects.filter(pk=newest).delete()
    html = html_of(client, run)
    assert text not in html
    assert html.count("Deleted since") == 1
    assert "This has been deleted since" in html


def test_a_deleted_source_leaves_no_text(client: Client, run: Run) -> None:
    Source.objects.filter(url="https://boats.test/marlene").delete()
    html = html_of(client, run)
    assert "2.40 metres" not in html
    assert "This has been deleted since" in html
    assert "2.40 metres" not in html_of(client, run, budget="1500")
    assert "2.40 metres" not in html_of(client, run, compare="newest")


def test_a_receipt_that_names_another_conversation_shows_nothing_of_it(
    client: Client, charlie: User, run: Run
) -> None:
    theirs = packed_turn(charlie)
    Run.objects.filter(pk=run.pk).update(receipt=theirs.receipt)
    html = html_of(client, run)
    assert "2.40 metres" not in html
    assert "rains" not in html


# --- What if --------------------------------------------------------------------------------------


def test_the_budget_of_the_turn_packs_the_same(run: Run) -> None:
    same = repacked(run, run.receipt["budget_tokens"])
    assert same.is_same
    assert "would have seen the same" in same.summary


def test_less_budget_puts_out_and_more_brings_in(alice: User) -> None:
    run = packed_turn(alice, budget=500)
    less, more = repacked(run, 150), repacked(run, 900)
    assert less.goes_out
    assert not less.comes_in
    assert "nothing comes in" in less.summary
    assert "lines go out" in less.summary
    assert more.comes_in
    assert less.pack.meter.used_tokens <= 150
    assert more.pack.meter.used_tokens <= 900
    assert {one.change for one in less.goes_out} == {"out"}
    assert {one.change for one in more.comes_in} == {"in"}


def test_what_comes_in_and_goes_out_is_the_difference_of_both_packs(run: Run) -> None:
    """Every line of the old pack stays, goes out, or belongs to a message that is now whole."""
    for budget in (0, 150, 400, 700, 1_300, 2_000):
        found = repacked(run, budget)
        now = _shown(found.pack)
        for ref, text in _shown(found.before) - now:
            gone = [one for one in found.goes_out if one.ref == ref]
            whole = any(one.ref == ref for one in found.pack.window)
            assert whole or any(text in [line.text for line in one.lines] for one in gone)
        for piece in found.comes_in:
            assert all((piece.ref, line.text) in now for line in piece.lines)


def _shown(pack_: object) -> set[tuple[str, str]]:
    pieces = [*pack_.window, *pack_.older]  # type: ignore[attr-defined]
    return {(piece.ref, line.text) for piece in pieces for line in piece.lines}


def test_packing_again_changes_nothing_that_is_stored(client: Client, run: Run) -> None:
    before = Run.objects.values().get(pk=run.pk)
    html_of(client, run, budget="150")
    html_of(client, run, compare="newest")
    assert Run.objects.values().get(pk=run.pk) == before


@pytest.mark.parametrize("given", ["-1", "99999999", "x", "", "1e3", "²", "9" * 40])
def test_a_budget_out_of_range_is_refused_with_the_range(
    client: Client, run: Run, given: str
) -> None:
    for headers in ({}, {"X-Fragment": "1"}):
        response = client.get(path_of(run), {"budget": given}, headers=headers)
        assert response.status_code == 400
        assert "Choose a budget between 0 and 4,100 tokens." in response.content.decode()


@given(st.integers(0, 200_000))
def test_the_slider_reaches_the_budget_of_the_turn_and_twice_as_much(budget: int) -> None:
    budgets = budgets_of({"budget_tokens": budget})
    assert (budget - budgets.least) % budgets.step == 0
    assert (budgets.most - budgets.least) % budgets.step == 0
    assert 0 <= budgets.least < budgets.step
    assert budgets.most >= 2 * budget
    assert 32 <= (budgets.most - budgets.least) / budgets.step <= 256


def test_the_newest_only_misses_what_an_old_question_needs(client: Client, alice: User) -> None:
    run = packed_turn(alice, budget=500)
    found = newest_only(run)
    assert found.n_newest_tokens <= run.receipt["budget_tokens"]
    assert found.n_lines_missed >= 1
    assert "would have missed" in found.summary
    assert not any("2.40" in piece.text for piece in found.newest)
    newest = list(Message.objects.filter(conversation=run.conversation_id, pk__lt=run.question_id))
    assert [piece.ref for piece in found.newest] == [
        f"m{one.pk}" for one in newest[-len(found.newest) :]
    ]
    html = html_of(client, run, compare="newest")
    assert "Newest only" in html
    assert "only here" in html


def test_the_newest_only_stops_at_the_first_that_does_not_fit(alice: User) -> None:
    run = packed_turn(alice, n_between=0, budget=30)
    kept = newest_only(run)
    answer = Message.objects.get(pk=run.question.parent_id)
    assert [piece.ref for piece in kept.newest] == [f"m{answer.pk}"]


def test_a_script_gets_the_comparison_alone(client: Client, run: Run) -> None:
    response = client.get(path_of(run), {"budget": "200"}, headers={"X-Fragment": "1"})
    html = response.content.decode()
    assert "<html" not in html
    assert "With 200 tokens" in html


# --- For whom, and at what cost -------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"budget": "200"}, {"compare": "newest"}])
def test_a_stranger_finds_no_page(
    browser_of: Callable[[User], Client], charlie: User, run: Run, asked: dict[str, str]
) -> None:
    own = packed_turn(charlie)
    stranger = browser_of(charlie)
    assert stranger.get(path_of(run), asked).status_code == 404
    mixed = f"/c/{own.conversation_id}/turns/{run.pk}/"
    assert stranger.get(mixed, asked).status_code == 404
    assert stranger.get(path_of(own), asked).status_code == 200


def test_the_page_costs_the_same_queries_for_few_lines_and_for_many(
    client: Client, alice: User
) -> None:
    def n_queries(run: Run) -> int:
        with CaptureQueriesContext(connection) as queries:
            html_of(client, run)
        return len(queries)

    few, many = packed_turn(alice, budget=500), packed_turn(alice, n_between=90, budget=4_000)
    assert len(many.receipt["lines"]) > 2 * len(few.receipt["lines"])
    html_of(client, few)  # the first one notes where the session is from
    assert n_queries(many) == n_queries(few)


def test_the_page_runs_and_colours_nothing_of_its_own(client: Client, run: Run) -> None:
    html = html_of(client, run, budget="200")
    assert "<script>" not in html
    assert " style=" not in html
    assert "onclick" not in html


def test_hostile_texts_are_escaped(client: Client, alice: User) -> None:
    hostile = "<img src=x onerror=alert(1)> keel of the boat Marlene"
    run = packed_turn(alice, question=hostile, title=hostile, page=hostile * 2)
    for asked in ({}, {"budget": "200"}, {"compare": "newest"}):
        html = html_of(client, run, **asked)
        assert "<img src=x" not in html
        assert "&lt;img src=x" in html


def test_without_content_there_is_structure_and_no_word(run: Run) -> None:
    seen = seen_turn(run, with_content=False)
    whole = seen_turn(run)
    told = repr([seen.pack.window, seen.pack.older, seen.question, seen.files, seen.continued])
    for word in ("keel", "Marlene", "rains", "Turku"):
        assert word not in told
        assert word in repr(whole)
    assert [len(piece.lines) for piece in seen.pack.older] == [
        len(piece.lines) for piece in whole.pack.older
    ]
    assert seen.pack.meter == whole.pack.meter
    assert any(
        "has words of the question" in one.reason for p in seen.pack.older for one in p.lines
    )
    for found in (repacked(run, 150, with_content=False), newest_only(run, with_content=False)):
        assert "Marlene" not in repr(found).replace("Marlene is", "")


def test_deleting_the_conversation_takes_the_page_with_it(client: Client, run: Run) -> None:
    Conversation.objects.filter(pk=run.conversation_id).delete()
    assert client.get(path_of(run)).status_code == 404


# --- What stands beside the conversation ----------------------------------------------------------


def test_facts_of_the_conversation_and_working_notes_stand_where_they_were_sent(
    client: Client, run: Run
) -> None:
    assert "Session facts" not in html_of(client, run)
    Conversation.objects.filter(pk=run.conversation_id).update(style="like a sailor")
    Run.objects.filter(pk=run.pk).update(receipt={**run.receipt, "session_tokens": 31})
    html = html_of(client, run)
    assert "Answer in this style: like a sailor" in html
    assert "31 tokens" in html
    assert html.index("System text") < html.index("Session facts") < html.index('id="window"')
    assert html.index("What the steps added") < html.index("Working memory")
    run.refresh_from_db()
    assert "sailor" not in repr(seen_turn(run, with_content=False))


# --- Summaries ------------------------------------------------------------------------------------


def test_a_summary_stands_with_its_span_and_text_until_it_is_gone(
    client: Client, alice: User, run: Run
) -> None:
    first = Message.objects.filter(conversation=run.conversation_id).earliest("pk")
    kept = _kept_summary(run, first.pk)
    receipt = {**run.receipt, "summaries": [{"summary": kept.pk, "tokens": 90}]}
    Run.objects.filter(pk=run.pk).update(receipt=receipt)
    run.refresh_from_db()
    html = html_of(client, run)
    assert "- Facts: the hull is blue" in html
    assert "2 messages" in html
    assert "summaries 90" in html
    assert html.index("Summaries</h2>") < html.index("The newest messages, whole")
    bare = seen_turn(run, with_content=False)
    assert [one.text for one in bare.summaries] == [""]
    assert [one.n_tokens for one in bare.summaries] == [90]
    kept.delete()
    html = html_of(client, run)
    assert "the hull is blue" not in html
    assert "no longer kept" in html


def _kept_summary(run: Run, first: int) -> Summary:
    return Summary.objects.create(
        owner_id=run.owner_id,
        conversation_id=run.conversation_id,
        status=Summary.Status.MADE,
        made_at=run.started_at,
        next_try_at=run.started_at,
        text="- Facts: the hull is blue",
        first_message=first,
        last_message=first + 1,
        n_messages=2,
        n_tokens=8,
    )
