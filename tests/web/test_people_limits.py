"""Rates and quotas: who is let through, who waits how long, and what nobody can get round."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from chat.accounts import limits, usage
from chat.accounts.models import Quota, RateCount, Usage
from chat.accounts.rules import Rate
from chat.accounts.visitors import address_of, network_of
from chat.library.index import scan_folder
from chat.models import Conversation, LibraryFolder, Run, Source, User
from tests.web.conftest import begun
from tests.web.test_pages import answered

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def after(seconds: float) -> Any:
    return NOW + timedelta(seconds=seconds)


class TestRate:
    def test_so_many_go_through_at_once_and_the_next_waits_for_its_share(self) -> None:
        rate = {"k": Rate(3, 60)}
        assert [limits.take(rate, NOW) for _ in range(4)] == [0, 0, 0, 20]

    def test_after_the_wait_that_was_named_one_more_goes_through(self) -> None:
        rate = {"k": Rate(3, 60)}
        for _ in range(3):
            limits.take(rate, NOW)
        wait = limits.take(rate, after(1))
        assert limits.take(rate, after(wait)) > 0
        assert limits.take(rate, after(1 + wait)) == 0
        assert limits.take(rate, after(1 + wait)) > 0

    def test_a_refused_try_costs_nothing(self) -> None:
        rate = {"k": Rate(1, 60)}
        limits.take(rate, NOW)
        for _ in range(5):
            assert limits.take(rate, after(30)) == 30
        assert limits.take(rate, after(60)) == 0

    def test_when_one_of_two_keys_refuses_the_other_is_not_charged(self) -> None:
        limits.take({"person": Rate(1, 60)}, NOW)
        both = {"person": Rate(1, 60), "address": Rate(1, 60)}
        assert limits.take(both, NOW) == 60
        assert limits.take({"address": Rate(1, 60)}, NOW) == 0

    def test_a_rate_of_nothing_is_no_limit_and_leaves_no_trace(self) -> None:
        assert [limits.take({"k": Rate(0, 60)}) for _ in range(50)] == [0] * 50
        assert not RateCount.objects.exists()

    def test_what_has_settled_is_dropped(self) -> None:
        limits.take({"old": Rate(1, 60)}, NOW - timedelta(minutes=2))
        limits.take({"new": Rate(1, 60)}, timezone.now())
        limits.drop_settled()
        assert list(RateCount.objects.values_list("key", flat=True)) == ["new"]

    @given(
        n=st.integers(1, 20),
        seconds=st.integers(1, 600),
        pauses=st.lists(st.floats(0, 50), max_size=40),
    )
    def test_no_window_lets_more_than_twice_its_number_through(
        self, n: int, seconds: int, pauses: list[float]
    ) -> None:
        RateCount.objects.all().delete()
        moment, taken = 0.0, []
        for pause in [*pauses, *[0.0] * n]:
            moment += pause
            if not limits.take({"k": Rate(n, seconds)}, after(moment)):
                taken.append(moment)
        for start in taken:
            within = [one for one in taken if start <= one < start + seconds]
            assert len(within) <= 2 * n


@pytest.mark.django_db(transaction=True)
def test_threads_that_come_together_share_one_count() -> None:
    let_through = []

    def come() -> None:
        try:
            let_through.extend(not limits.take({"k": Rate(7, 3600)}) for _ in range(5))
        finally:
            connection.close()

    threads = [threading.Thread(target=come) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(let_through) == 20
    assert sum(let_through) == 7


class TestAddress:
    @pytest.mark.parametrize(
        ("peer", "forwarded", "behind", "address"),
        [
            ("10.0.0.1", "1.2.3.4", False, "10.0.0.1"),
            ("10.0.0.1", "1.2.3.4", True, "1.2.3.4"),
            ("10.0.0.1", "6.6.6.6, 1.2.3.4", True, "1.2.3.4"),
            ("10.0.0.1", "", True, "10.0.0.1"),
            ("10.0.0.1", "<script>", True, "10.0.0.1"),
            ("::ffff:1.2.3.4", "", False, "1.2.3.4"),
            ("fe80::1%eth0", "", False, "fe80::1"),
            ("", "", True, ""),
            ("/run/socket", "", True, ""),
        ],
    )
    def test_is_the_one_that_our_own_proxy_saw(
        self, peer: str, forwarded: str, behind: bool, address: str
    ) -> None:
        assert address_of(peer, forwarded, behind_proxy=behind) == address

    def test_one_line_of_ipv6_is_one_visitor(self) -> None:
        assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1")
        assert network_of("2001:db8::1") != network_of("2001:db8:0:1::1")
        assert network_of("1.2.3.4") == "1.2.3.4"
        assert network_of("nonsense") == ""


# --- At the doors -------------------------------------------------------------------------------


def ask(client: Client, text: str = "Why?", **more: Any) -> Any:
    return client.post("/ask/", {"text": text} | more)


@pytest.fixture
def driven(monkeypatch: Any) -> list[int]:
    """The ids of runs that were started; nothing drives them."""
    started: list[int] = []
    monkeypatch.setattr("chat.views.manager.start", started.append)
    monkeypatch.setattr("chat.views.hub.publish", lambda *_: None)
    return started


def test_a_question_too_many_is_refused_with_the_wait_and_kept_in_the_box(
    alice: User, charlie: User, browser_of: Any, driven: list[int], settings: Any
) -> None:
    settings.LUMINA_ASKS_PER_MINUTE = 2
    client = browser_of(alice)
    assert [ask(client).status_code for _ in range(2)] == [302, 302]
    refused = ask(client, "My long question?")
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 30
    assert b"My long question?" in refused.content
    assert b"Ask again in 30 seconds" in refused.content
    assert len(driven) == 2
    assert ask(browser_of(charlie)).status_code == 302


def test_the_same_ask_again_is_the_same_answer_and_counts_once(
    alice: User, browser_of: Any, driven: list[int], settings: Any
) -> None:
    settings.LUMINA_ASKS_PER_MINUTE = 1
    client = browser_of(alice)
    replies = [ask(client, client_id="same").status_code for _ in range(3)]
    assert replies == [302, 302, 302]
    assert len(driven) == 1
    assert Usage.objects.get(owner=alice).asks == 1


def test_many_people_behind_one_address_share_that_address(
    browser_of: Any, driven: list[int], settings: Any, db: Any
) -> None:
    settings.LUMINA_ASKS_PER_MINUTE, settings.LUMINA_ADDRESS_FACTOR = 1, 3
    people = [User.objects.create_user(f"p{number}") for number in range(4)]
    assert [ask(browser_of(one)).status_code for one in people] == [302, 302, 302, 429]


async def test_the_socket_refuses_in_its_own_form(alice: User, page_of: Any, settings: Any) -> None:
    settings.LUMINA_ASKS_PER_MINUTE = 1
    page = await page_of(alice)
    await page.ask()
    refused = (await page.ask(client_id="c-2"))[-1]
    assert (refused["type"], refused["code"], refused["client_id"]) == (
        "refused",
        "too_many",
        "c-2",
    )
    assert "seconds" in refused["message"]


async def test_a_search_too_many_fails_and_the_answer_says_so(
    alice: User, page_of: Any, settings: Any
) -> None:
    settings.LUMINA_SEARCHES_PER_MINUTE = 1
    page = await page_of(alice)
    await page.ask("Why does ice float?")
    events = await page.ask("How many moons does Saturn have?", client_id="c-2")
    assert "too many searches" in str(events)
    assert await Usage.objects.filter(owner=alice, searches=1).aexists()


def test_passwords_are_tried_so_often_from_one_address_and_no_more(
    alice: User, settings: Any
) -> None:
    settings.LUMINA_DOOR_TRIES = 3
    alice.set_password("correct horse battery")
    alice.save()
    client = Client()
    wrong = {"username": "nobody", "password": "x"}
    assert [client.post("/sign-in/", wrong).status_code for _ in range(3)] == [200] * 3
    right = {"username": "alice", "password": "correct horse battery"}
    refused = client.post("/sign-in/", right)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) == 300
    elsewhere = Client(REMOTE_ADDR="9.9.9.9")
    assert elsewhere.post("/sign-in/", right).status_code == 302


def test_one_name_is_tried_so_often_from_all_addresses_together(alice: User, settings: Any) -> None:
    settings.LUMINA_DOOR_TRIES = 3
    wrong = {"username": "alice", "password": "x"}
    replies = [
        Client(REMOTE_ADDR=f"9.9.9.{n}").post("/sign-in/", wrong).status_code for n in range(5)
    ]
    assert replies == [200, 200, 200, 429, 429]


def test_the_right_password_gives_the_tries_back(alice: User, settings: Any) -> None:
    settings.LUMINA_DOOR_TRIES = 3
    alice.set_password("correct horse battery")
    alice.save()
    form = {"username": "alice", "password": "correct horse battery"}
    for number in range(5):
        client = Client(REMOTE_ADDR=f"9.9.9.{number}")
        client.post("/sign-in/", form | {"password": "x"})
        assert client.post("/sign-in/", form).status_code == 302


def test_an_office_behind_one_address_signs_in_all_morning(db: Any, settings: Any) -> None:
    settings.LUMINA_DOOR_TRIES = 3
    for number in range(8):
        User.objects.create_user(f"p{number}", password="correct horse battery")
        form = {"username": f"p{number}", "password": "correct horse battery"}
        assert Client().post("/sign-in/", form).status_code == 302


def test_an_account_of_ones_own_does_not_open_an_address_for_guessing(
    charlie: User, settings: Any
) -> None:
    settings.LUMINA_DOOR_TRIES = 3
    charlie.set_password("correct horse battery")
    charlie.save()
    own = {"username": "charlie", "password": "correct horse battery"}
    replies = []
    for number in range(5):
        guess = {"username": f"victim{number}", "password": "x"}
        replies.append(Client().post("/sign-in/", guess).status_code)
        Client().post("/sign-in/", own)
    assert replies == [200, 200, 200, 429, 429]


@pytest.mark.parametrize("path", ["/sign-in/guess{}/", "/invited/guess{}/", "/reset/guess{}/"])
def test_links_cannot_be_guessed_at_will(path: str, settings: Any) -> None:
    settings.LUMINA_DOOR_TRIES = 2
    client = Client()
    replies = [client.get(path.format(number)).status_code for number in range(6)]
    assert replies == [410, 410, 410, 410, 429, 429]


# --- Quotas -------------------------------------------------------------------------------------


def test_tokens_of_the_day_end_at_the_door_and_say_when_there_are_more(
    alice: User, browser_of: Any, driven: list[int]
) -> None:
    Quota.objects.create(owner=alice, tokens_a_day=100)
    usage.add(alice.pk, tokens=99)
    client = browser_of(alice)
    assert ask(client).status_code == 302
    usage.add(alice.pk, tokens=1)
    refused = ask(client)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 86_401
    assert b"all tokens of today" in refused.content


def test_deleting_conversations_gives_no_tokens_back(alice: User, browser_of: Any) -> None:
    run = answered(alice)
    usage.add(alice.pk, tokens=50)
    browser_of(alice).post(f"/c/{run.conversation_id}/delete/")
    assert not Run.objects.exists()
    assert usage.use_of(alice).shares[0].used == 50


def test_the_months_tokens_are_those_of_all_its_days(alice: User, settings: Any) -> None:
    settings.LUMINA_TOKENS_PER_MONTH = 100
    today = usage.today_of(alice)
    first = today.replace(day=1)
    Usage.objects.create(owner=alice, day=first, tokens=60)
    Usage.objects.create(owner=alice, day=first - timedelta(days=1), tokens=500)
    assert usage.refusal(alice) is None
    usage.add(alice.pk, tokens=40)
    assert "this month" in str(usage.refusal(alice))


def test_saved_pages_count_in_bytes_and_deleting_makes_room(alice: User, settings: Any) -> None:
    settings.LUMINA_SNAPSHOT_BYTES = 100
    run = answered(alice)
    Source.objects.filter(run=run).update(snapshot="é" * 25)
    assert usage.bytes_of_snapshots(alice) == 100
    assert "saved pages" in str(usage.refusal(alice))
    Conversation.objects.all().delete()
    assert usage.refusal(alice) is None


def test_a_persons_own_quota_wins_and_nought_is_no_limit(alice: User, settings: Any) -> None:
    settings.LUMINA_TOKENS_PER_DAY = 10
    usage.add(alice.pk, tokens=11)
    assert usage.refusal(alice)
    Quota.objects.create(owner=alice, tokens_a_day=0)
    assert usage.refusal(alice) is None


def test_an_answers_tokens_are_counted_when_it_ends(alice: User, settings: Any) -> None:
    from chat import store
    from chat.agent.events import RunFinished
    from chat.agent.values import Usage as Spent

    run = begun(alice)
    end = store.Ending(status="complete", usage=Spent(prompt_tokens=7, completion_tokens=5))
    store.end_run(run.pk, 0, [RunFinished(status="complete")], end)
    assert Usage.objects.get(owner=alice).tokens == 12


def test_what_does_not_fit_into_the_librarys_quota_stays_out(alice: User, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("é" * 20)
    (tmp_path / "b.txt").write_text("b" * 20)
    Quota.objects.create(owner=alice, library_bytes=45)
    folder = LibraryFolder.objects.create(owner=alice, path=str(tmp_path))
    report = scan_folder(folder)
    assert report.added == 1
    assert "quota" in report.skipped["b.txt"]
    (tmp_path / "a.txt").write_text("a" * 20)
    assert scan_folder(folder).added == 1
    assert usage.bytes_of_library(alice) == 40
