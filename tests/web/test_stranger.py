"""A stranger tries every door. The doors are listed by the program itself (addresses, messages of
the socket, tasks, commands, searches): a new one fails here until it is tried."""

from __future__ import annotations

import argparse
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from channels.routing import URLRouter
from django.apps import apps
from django.core.management import get_commands, load_command_class
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from chat import tasks as chat_tasks
from chat.accounts import content, invitations
from chat.accounts.models import AuditEntry, Session
from chat.consumers import PageConsumer
from chat.database import in_database
from chat.models import (
    Conversation,
    LibraryDocument,
    LibraryFolder,
    LibraryPassage,
    Message,
    Run,
    User,
)
from chat.providers.search.library import LibraryProvider
from chat.routing import websocket_urlpatterns
from lumina.celery import app as celery
from memory import service
from memory import store as memory_store
from memory.models import MemoryFile, Proposal, Revision
from memory.summary_models import Summary
from tests.web.conftest import begun
from tests.web.test_pages import answered

pytestmark = pytest.mark.django_db

Door = tuple[str, str, dict[str, Any]]


@pytest.fixture
def bob(db: Any) -> User:
    """An operator who is no owner, and has leave to read nothing."""
    return User.objects.create_user("bob", is_staff=True)


@pytest.fixture
def secret_run(alice: User) -> Run:
    run = answered(alice, "A secret answer [1].", "A secret question?")
    rests_on = memory_store.By(source_id=run.question_id)
    memory_store.put(alice.pk, "knowledge/secret.md", "- A secret note", rests_on)
    wish = Proposal(owner=alice, path="knowledge/secret.md", kind="append", text="- A secret wish")
    memory_store.propose(wish)
    Client().force_login(alice)
    invitations.invite(alice, email="secret@example.org")
    return run


@pytest.fixture
def secret_document(alice: User) -> LibraryDocument:
    folder = LibraryFolder.objects.create(owner=alice, path="/secret")
    document = LibraryDocument.objects.create(
        folder=folder, path="a.md", title="A secret document", text="secret", mtime_ns=0
    )
    LibraryPassage.objects.create(document=document, start=0, end=6, terms=["secret"])
    return document


def everything_of(owner: User) -> list[Any]:
    """The rows that a stranger must not change."""
    tables: list[Any] = [Conversation, Message, Run, LibraryDocument]
    return [
        *([list(table.objects.of(owner).values()) for table in tables]),
        list(MemoryFile.objects.of(owner.pk).values()),
        list(Revision.objects.of(owner.pk).values()),
        list(Proposal.objects.of(owner.pk).values()),
        User.objects.filter(pk=owner.pk).values().get(),
        list(Session.objects.filter(user=owner).values("session_key", "session_data")),
    ]


# --- Addresses ----------------------------------------------------------------------------------


def doors(run: Run, document: LibraryDocument) -> dict[str, Door]:
    """How each address is tried, by its name: method, path, what is posted."""
    c, owner = run.conversation_id, run.owner_id
    note = MemoryFile.objects.get(owner=owner)
    wish = Proposal.objects.get(owner=owner)
    summary, _ = Summary.objects.get_or_create(
        owner=run.owner,
        conversation=run.conversation,
        first_message=run.question_id,
        last_message=run.answer_id,
        defaults={"status": "failed", "error": "A secret error", "next_try_at": timezone.now()},
    )
    session = Session.objects.filter(user=owner).earliest("seen_at")
    invitation = invitations.open_ones().get()
    return {
        "home": ("get", "/", {}),
        "ask": ("post", "/ask/", {"text": "Hello?", "conversation": c}),
        "conversations": ("get", "/c/", {}),
        "conversation": ("get", f"/c/{c}/", {}),
        "rename": ("post", f"/c/{c}/rename/", {"title": "Stolen"}),
        "delete": ("post", f"/c/{c}/delete/", {}),
        "show-version": ("post", f"/c/{c}/version/", {"message": run.answer_id}),
        "delete-message": ("post", f"/messages/{run.answer_id}/delete/", {}),
        "search": ("get", f"/search/?q=secret&within={c}", {}),
        "stop": ("post", f"/runs/{run.pk}/stop/", {}),
        "turn": ("get", f"/c/{c}/turns/{run.pk}/", {}),
        "working": ("get", f"/runs/{run.pk}/working/", {}),
        "source": ("get", f"/runs/{run.pk}/sources/1/", {}),
        "document": ("get", f"/library/{document.pk}", {}),
        "sidebar": ("get", f"/sidebar/?conversation={c}", {}),
        "memory": ("get", "/memory/", {}),
        "memory-new": ("post", "/memory/new/", {"path": "knowledge/new.md", "text": "- New"}),
        "memory-file": ("get", f"/memory/{note.pk}/", {}),
        "memory-edit": ("post", f"/memory/{note.pk}/edit/", {"text": "- Stolen", "base": "1"}),
        "memory-undo": ("post", f"/memory/{note.pk}/undo/", {}),
        "memory-restore": ("post", f"/memory/{note.pk}/restore/", {"number": "1"}),
        "memory-delete": ("post", f"/memory/{note.pk}/delete/", {}),
        "memory-decide": ("post", f"/memory/proposals/{wish.pk}/", {"answer": "yes"}),
        "memory-forget-all": ("post", "/memory/forget/", {"sure": "yes"}),
        "memory-retry": ("post", f"/memory/summaries/{summary.pk}/retry/", {}),
        "sign-in": ("get", "/sign-in/", {}),
        "sign-in-by-link": ("get", "/sign-in/nonsense/", {}),
        "sign-out": ("post", "/sign-out/", {}),
        "sign-up": ("post", "/sign-up/", {"username": "new"}),
        "invited": ("get", "/invited/nonsense/", {}),
        "reset": ("post", "/reset/", {"who": "alice"}),
        "reset-by-link": ("get", "/reset/nonsense/", {}),
        "account": ("get", "/account/", {}),
        "account-password": ("post", "/account/password/", {"password": "stolen", "old": ""}),
        "account-time-zone": ("post", "/account/time-zone/", {"time_zone": "Asia/Tokyo"}),
        "account-delete": ("post", "/account/delete/", {}),
        "account-end": ("post", f"/account/sessions/{session.handle}/end/", {}),
        "account-end-others": ("post", "/account/sessions/end/", {}),
        "people": ("get", "/people/", {}),
        "people-invite": ("post", "/people/invite/", {}),
        "people-withdraw": ("post", f"/people/invitations/{invitation.pk}/withdraw/", {}),
        "settings": ("post", "/people/settings/", {"LUMINA_MODEL_URL": "https://evil.example"}),
        "people-log": ("get", "/people/log/", {}),
        "person": ("get", f"/people/{owner}/", {}),
        "person-change": ("post", f"/people/{owner}/change/", {"do": "disable"}),
        "person-reset": ("post", f"/people/{owner}/reset/", {}),
        "person-quota": ("post", f"/people/{owner}/quota/", {"tokens_a_day": "1"}),
        "person-open": (
            "post",
            f"/people/{owner}/content/open/",
            {"reason": "I would like to know.", "hours": "1"},
        ),
        "person-close": ("post", f"/people/{owner}/content/close/", {}),
        "person-content": ("get", f"/people/{owner}/content/", {}),
        "person-conversation": ("get", f"/people/{owner}/content/{c}/", {}),
        "check": ("post", "/check/", {}),
        "healthz": ("get", "/healthz", {}),
        "readyz": ("get", "/readyz", {}),
        "metrics": ("get", "/metrics", {}),
    }


OPEN_TO_ALL = {
    "sign-in",
    "sign-in-by-link",
    "sign-out",
    "sign-up",
    "invited",
    "reset",
    "reset-by-link",
    "healthz",
    "readyz",
    "metrics",
}
ONES_OWN = {
    "home",
    "conversations",
    "sidebar",
    "memory",
    "memory-new",
    "memory-forget-all",
    "account",
    "account-password",
    "account-time-zone",
    "account-end-others",
    "account-delete",
}
# What an operator finds, without a word of what anybody wrote.
OPERATORS = {"people", "people-invite", "people-withdraw", "people-log", "person", "check"}
OPERATORS |= {"person-change", "person-reset", "person-quota", "person-open", "person-close"}


def patterns(resolver: Any = None, before: str = "") -> Iterator[tuple[str, str]]:
    """Every address of the URL configuration: its name (or its route), and its route."""
    for pattern in (resolver or get_resolver()).url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern, route)
        elif isinstance(pattern, URLPattern):
            yield pattern.name or route, route


def names(*, of_the_admin: bool) -> set[str]:
    return {name for name, route in patterns() if route.startswith("admin/") == of_the_admin}


def test_every_address_is_tried(secret_run: Run, secret_document: LibraryDocument) -> None:
    assert names(of_the_admin=False) == set(doors(secret_run, secret_document))


def test_a_stranger_sees_and_changes_nothing(
    alice: User,
    charlie: User,
    browser_of: Callable[[User], Client],
    secret_run: Run,
    secret_document: Any,
) -> None:
    before = everything_of(alice)
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        response = getattr(browser_of(charlie), method)(path, data)
        assert b"secret" not in response.content, name
        if name not in OPEN_TO_ALL | ONES_OWN:
            assert response.status_code == 404, name
    assert everything_of(alice) == before
    assert not User.objects.filter(username="new").exists()


def test_an_operator_reads_nothing_and_changes_no_owner(
    alice: User,
    bob: User,
    browser_of: Callable[[User], Client],
    secret_run: Run,
    secret_document: Any,
) -> None:
    before = everything_of(alice)
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        if name == "check":  # asks all services, and tells of none of the people
            continue
        response = getattr(browser_of(bob), method)(path, data)
        told = response.content.replace(b"secret@example.org", b"")
        assert b"secret" not in told, name
        if name not in OPEN_TO_ALL | ONES_OWN | OPERATORS:
            assert response.status_code == 404, name
    assert everything_of(alice) == before


def test_whoever_is_not_signed_in_is_sent_to_the_door(
    secret_run: Run, secret_document: LibraryDocument
) -> None:
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        response = getattr(Client(), method)(path, data)
        assert b"secret" not in response.content, name
        if name not in OPEN_TO_ALL:
            assert response.status_code == 302, name
            assert response["Location"].startswith("/sign-in/"), name


def test_the_owner_gets_every_page(
    alice: User, browser_of: Callable[[User], Client], secret_run: Run, secret_document: Any
) -> None:
    shut = {"sign-in-by-link", "invited", "reset-by-link", "metrics"}
    shut |= {"person-content", "person-conversation"}  # their own need no such page
    for name, (method, path, data) in doors(secret_run, secret_document).items():
        if method == "get" and name not in shut:
            response = browser_of(alice).get(path, data, follow=True)
            assert response.status_code == 200, name


# --- The admin ----------------------------------------------------------------------------------


def admin_paths(run: Run) -> list[str]:
    """Every address of the admin, filled in with the owner's ids."""
    filled = []
    for _, route in patterns():
        if route.startswith("admin/") and "(?P" not in route:
            model = re.match(r"admin/(\w+)/(\w+)/", route)
            pk = run.owner_id if model and model[2] == "user" else run.pk
            filled.append("/" + re.sub(r"<[^>]+>", str(pk), route))
    assert len(filled) > 20
    return filled


def test_the_admin_is_not_there_for_strangers(
    alice: User, charlie: User, browser_of: Callable[[User], Client], secret_run: Run
) -> None:
    before = everything_of(alice)
    for path in admin_paths(secret_run):
        for method in ("get", "post"):
            # The admin sends whoever is no operator to its door, which is not there for them.
            response = getattr(browser_of(charlie), method)(path, follow=True)
            own = path in {"/admin/logout/", "/admin/password_change/"}
            assert own or response.status_code in {403, 404, 405}, path
            assert b"secret" not in response.content, path
    assert everything_of(alice) == before


def test_the_owner_finds_no_content_in_the_admin_either(
    alice: User, browser_of: Callable[[User], Client], secret_run: Run
) -> None:
    elsewhere = {"/admin/login/", "/admin/logout/", "/admin/password_change/"}
    for path in admin_paths(secret_run):
        if path not in elsewhere and not path.endswith("/password/"):
            response = browser_of(alice).get(path, follow=True)
            told = response.content.replace(b"secret@example.org", b"")
            assert b"secret" not in told, path


# --- The socket ---------------------------------------------------------------------------------


def messages(run: Run) -> dict[str, list[dict[str, Any]]]:
    c = run.conversation_id
    return {
        "ask": [
            {"text": "Hello?", "conversation": c},
            {"text": "Hello?", "conversation": c, "after": run.answer_id},
            {"text": "Stolen", "edits": run.question_id},
            {"regenerates": run.answer_id},
            {"continues": run.answer_id},
        ],
        "stop": [{"run": run.pk}],
        "watch": [
            {"conversation": c},
            {"conversation": c, "runs": {str(run.pk): 0}, "newest": 0},
        ],
    }


def test_every_socket_and_message_is_tried(secret_run: Run) -> None:
    assert [str(one.pattern) for one in websocket_urlpatterns] == ["ws/"]
    assert isinstance(URLRouter(websocket_urlpatterns), URLRouter)
    assert set(PageConsumer.DOORS) == set(messages(secret_run))


async def test_a_stranger_gets_nothing_through_the_socket(
    page_of: Any, alice: User, charlie: User, secret_run: Run
) -> None:
    running = await in_database(begun)(alice, "A secret that runs?")
    before = await in_database(everything_of)(alice)
    page = await page_of(charlie)
    for run in (secret_run, running):
        for kind, tries in messages(run).items():
            for number, message in enumerate(tries):
                await page.send({"type": kind, "client_id": f"{kind}-{number}"} | message)
                heard = await page.receive()
                assert heard["type"] == "refused", message
                assert "secret" not in json.dumps(heard)
    assert await in_database(everything_of)(alice) == before
    assert not await Conversation.objects.filter(owner=charlie).aexists()


# --- Tasks, commands, searches ------------------------------------------------------------------

# Each task with what a stranger could bring it to be called with.
TASKS: dict[str, tuple[Any, ...]] = {
    "chat.tasks.sweep_runs": (),
    "chat.tasks.scan_library": (),
    "chat.tasks.tidy_people": (),
    "chat.tasks.mail_reset": ("alice", "https://evil.example"),
    "chat.tasks.answer_check": ("nonsense",),
    "memory.tasks.remember": (0,),
    "memory.tasks.index_backlog": (),
    "memory.tasks_summaries.summarise_span": (0,),
    "memory.tasks_summaries.find_unsummarised": (),
}


def test_every_task_is_tried_and_changes_nothing_of_others(
    alice: User, secret_run: Run, settings: Any, monkeypatch: Any
) -> None:
    celery.loader.import_default_modules()
    ours = {name for name in celery.tasks if name.startswith(("chat.", "memory."))}
    assert ours == set(TASKS)
    assert chat_tasks
    before = everything_of(alice)
    for name, arguments in TASKS.items():
        celery.tasks[name](*arguments)
    assert everything_of(alice) == before


# Whom each command acts for. Whoever can run commands has the whole installation in their hands:
# what matters is that none acts for one person upon another.
FOR_THE_OWNER = {"ask", "import_conversation"}
FOR_ONE_PERSON = {"library", "memory", "signin_link"}
FOR_THE_INSTALLATION = {
    "backup",
    "bench_memory",
    "bench_recall",
    "rebuild_index",
    "working",
    "check_lumina",
    "prepare",
    "restore",
    "rotate_keys",
}


def own_commands() -> dict[str, Any]:
    apps_of_ours = {config.name for config in apps.get_app_configs()} & {"chat", "memory"}
    return {
        name: load_command_class(app, name)
        for name, app in get_commands().items()
        if app in apps_of_ours
    }


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options_of(inner)


def test_every_command_is_known_with_whom_it_acts_for() -> None:
    commands = own_commands()
    assert set(commands) == FOR_THE_OWNER | FOR_ONE_PERSON | FOR_THE_INSTALLATION
    with_owner = {
        name
        for name, command in commands.items()
        if {"--owner", "--user"} & set(options_of(command.create_parser("manage.py", name)))
    }
    assert with_owner == FOR_ONE_PERSON


def test_commands_for_one_person_leave_the_others_alone(
    alice: User, charlie: User, secret_run: Run, secret_document: Any, tmp_path: Any
) -> None:
    from django.core.management import CommandError, call_command

    before = everything_of(alice)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(CommandError):
        call_command("library", "remove", "/secret", owner="charlie")
    printed = io.StringIO()
    call_command("signin_link", user="charlie", stdout=printed)
    client = Client()
    client.post(urlsplit(printed.getvalue().strip()).path)
    assert client.session["_auth_user_id"] == str(charlie.pk)
    call_command("memory", "export", str(out), owner="charlie")
    assert "secret" not in "".join(path.read_text() for path in out.rglob("*.md"))
    (out / "knowledge").mkdir(exist_ok=True)
    (out / "knowledge" / "secret.md").write_text("- Stolen\n")
    call_command("memory", "import", str(out), owner="charlie", delete=True)
    assert everything_of(alice) == before


async def test_a_search_of_the_library_finds_nothing_of_others(
    alice: User, charlie: User, secret_document: Any, transactional_db: Any
) -> None:
    assert await LibraryProvider(alice.pk).search("secret", limit=8)
    assert not await LibraryProvider(charlie.pk).search("secret", limit=8)


# How each function of `memory.service` that takes an owner is tried, as the stranger.
NOTE = "knowledge/secret.md"
SEARCHES: dict[str, Callable[[int], Any]] = {
    "forget": lambda owner: service.forget(owner, NOTE, "", said=None),
    "write": lambda owner: service.write(owner, NOTE, "", replaces="A secret note", said=None),
    "file_ids": lambda owner: service.file_ids(owner, [NOTE]),
    "file_paths": lambda owner: service.file_paths(
        owner, MemoryFile.objects.values_list("pk", flat=True)
    ),
    "list_files": lambda owner: service.list_files(owner),
    "n_waiting": lambda owner: service.n_waiting(owner),
    "read_file": lambda owner: service.read_file(owner, NOTE),
    "start_texts": lambda owner: service.start_texts(owner, "secret", 1_000),
    "recall": lambda owner: service.recall(owner, *_place(), "secret", 1_000).lines,
    "files_resting_on": lambda owner: service.files_resting_on(owner, [_place()[1] - 1]),
    "forget_owner": lambda owner: service.forget_owner(owner),
    "search_history": lambda owner: service.search_history(owner, "secret"),
    "left_window": lambda owner: _left_window(owner),
    "summaries": lambda owner: _summarised(
        lambda place: service.summaries(owner, *place, before_id=None, budget_tokens=1_000)
    ),
    "summaries_of": lambda owner: _summarised(lambda place: service.summaries_of(owner, place[0])),
}


def _place() -> tuple[int, int]:
    """The conversation of the secret run and its last message."""
    run = Run.objects.order_by("pk")[0]
    return run.conversation_id, run.answer_id


def _left_window(owner: int) -> int:
    conversation, head = _place()
    service.left_window(owner, conversation, head, before_id=head)
    return Summary.objects.count()


def _summarised(look: Callable[[tuple[int, int]], Any]) -> Any:
    """What one sees of the summary of the secret question."""
    conversation, head = _place()
    run = Run.objects.get(answer=head)
    service.left_window(run.owner_id, conversation, head, before_id=head)
    for pk in Summary.objects.values_list("pk", flat=True):
        service.summarise(pk)
    Summary.objects.update(text="A secret summary", n_tokens=4, status="made")
    return look((conversation, head))


def with_an_owner(function: Any) -> bool:
    if not inspect.isfunction(function):
        return False
    return next(iter(inspect.signature(function).parameters), "") == "owner_id"


def test_every_function_of_memory_that_takes_an_owner_is_tried() -> None:
    offered = {name for name in service.__all__ if with_an_owner(getattr(service, name))}
    assert offered == set(SEARCHES)


@pytest.mark.parametrize("name", SEARCHES)
def test_memory_tells_a_stranger_nothing(
    name: str, alice: User, charlie: User, secret_run: Run
) -> None:
    before = everything_of(alice)
    told = said_to(charlie, name)
    assert "secret" not in told
    assert everything_of(alice) == before
    assert said_to(alice, name) != told


def said_to(owner: User, name: str) -> str:
    """What the function says, without the name that it was asked for."""
    try:
        told = str(SEARCHES[name](owner.pk))
    except (service.FileRefused, service.NotTheirs) as refused:
        told = f"Refused: {refused}"
    return told.replace(NOTE, "…")


# --- Content, in the open -----------------------------------------------------------------------


def test_content_is_opened_with_a_reason_read_with_a_log_and_seen_by_the_person(
    alice: User, charlie: User, browser_of: Callable[[User], Client]
) -> None:
    run = answered(charlie, "A secret answer [1].", "A secret question?")
    client = browser_of(alice)
    transcript = f"/people/{charlie.pk}/content/{run.conversation_id}/"
    assert client.get(transcript).status_code == 404
    opened = f"/people/{charlie.pk}/content/open/"
    assert client.post(opened, {"reason": "why", "hours": "1"}).status_code == 403
    assert client.post(opened, {"reason": "", "hours": "1"}).status_code == 400
    assert (
        client.post(opened, {"reason": "Charlie asked for help", "hours": "9"}).status_code == 400
    )
    reason = {"reason": "Charlie asked for help", "hours": "1"}
    assert client.post(opened, reason).status_code == 302
    assert b"secret" not in client.get(f"/people/{charlie.pk}/content/").content
    assert b"A secret answer" in client.get(transcript).content
    page = browser_of(charlie).get("/account/").content.decode()
    assert "Charlie asked for help" in page
    assert f"read a conversation: charlie · conversation {run.conversation_id}" in page
    client.post(f"/people/{charlie.pk}/content/close/")
    assert client.get(transcript).status_code == 404
    done = set(AuditEntry.objects.filter(about_id=charlie.pk).values_list("action", flat=True))
    assert {"content_opened", "content_read", "content_closed"} <= done
    assert "secret" not in str(list(AuditEntry.objects.values()))


def test_a_leave_to_read_ends_by_itself_and_with_the_permission(
    alice: User, bob: User, charlie: User
) -> None:
    made = content.open_content(alice, charlie, "Charlie asked for help", 1)
    assert content.open_access(alice, charlie) == made
    assert content.open_access(bob, charlie) is None
    assert content.open_access(alice, bob) is None
    User.objects.filter(pk=alice.pk).update(is_staff=False)
    assert content.open_access(User.objects.get(pk=alice.pk), charlie) is None
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    type(made).objects.update(opened_at=timezone.now(), ends_at=timezone.now())
    assert content.open_access(User.objects.get(pk=alice.pk), charlie) is None


def test_no_table_with_content_is_in_the_admin(alice: User) -> None:
    """Titles, texts and snapshots are in no list and in no form; a new table is decided about."""
    from django.contrib.admin import site

    shown = {
        (model._meta.label, name)
        for model, one in site._registry.items()
        if model._meta.app_label in {"chat", "memory"}
        for name in (*one.list_display, *(one.fields or [f.name for f in model._meta.fields]))
    }
    assert {label for label, _ in shown} == {
        "chat.User",
        "chat.Conversation",
        "chat.Run",
        "chat.AuditEntry",
        "chat.Invitation",
        "chat.ContentAccess",
        "chat.Quota",
        "chat.Usage",
    }
    assert not {name for _, name in shown} & {"reason_text", "token_hash", "receipt", "followups"}
    assert ("chat.Run", "reason") not in shown
    assert not [name for _, name in shown if name in {"text", "model_text", "snapshot", "title"}]


def test_deleting_an_account_in_the_admin_names_nothing_and_takes_all(
    alice: User, charlie: User, browser_of: Callable[[User], Client]
) -> None:
    answered(charlie, "A secret answer [1].", "A secret question?")
    client = browser_of(alice)
    path = f"/admin/chat/user/{charlie.pk}/delete/"
    page = client.get(path).content.decode()
    assert "secret" not in page
    assert "1 conversation" in page
    assert client.post(path, {"post": "yes"}).status_code == 302
    assert not Conversation.objects.exists()
    entry = AuditEntry.objects.get(action="deleted")
    assert (entry.by_id, entry.target) == (alice.pk, f"account {charlie.pk}")


def test_an_operator_cannot_make_themselves_an_owner_in_the_admin(
    bob: User, browser_of: Callable[[User], Client]
) -> None:
    from django.contrib.auth.models import Permission

    bob.user_permissions.set(Permission.objects.all())
    client = browser_of(bob)
    assert client.get(f"/admin/chat/user/{bob.pk}/change/").status_code == 403
    form = {"username": "bob", "is_superuser": "on"}
    assert client.post(f"/admin/chat/user/{bob.pk}/change/", form).status_code == 403
