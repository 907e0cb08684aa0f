"""A stranger tries the messages of the socket, the tasks, the commands and the searches. They are
listed by the program itself: a new one fails here until it is tried."""

from __future__ import annotations

import argparse
import inspect
import io
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from channels.routing import URLRouter
from django.apps import apps
from django.core.management import get_commands, load_command_class
from django.test import Client

from chat import tasks as chat_tasks
from chat.consumers import PageConsumer
from chat.database import in_database
from chat.models import (
    Conversation,
    Run,
    User,
)
from chat.providers.search.library import LibraryProvider
from chat.routing import websocket_urlpatterns
from lumina.celery import app as celery
from memory import service
from memory.models import MemoryFile
from memory.summary_models import Summary
from tests.web.conftest import begun
from tests.web.strangers.owned import everything_of

pytestmark = pytest.mark.django_db


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
