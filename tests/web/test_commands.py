"""The commands: ask, signin_link, prepare; and the checks that stop a wrong start."""

from __future__ import annotations

import asyncio
import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from chat import checks
from chat.accounts.links import the_owner
from chat.library import ensure_sample_library
from chat.models import Conversation, LibraryDocument, Run, User
from chat.runs import manager
from tests.servers.model_script import call, fail, say

pytestmark = pytest.mark.django_db(transaction=True)


def ask(*arguments: str) -> str:
    out = StringIO()
    call_command("ask", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("why does ice float?", "less dense than liquid water"),
        ("¿por qué flota el hielo?", "menos denso que el agua"),
    ],
)
def test_without_a_model_every_number_leads_to_a_passage_with_the_quoted_words(
    question: str, words: str
) -> None:
    ensure_sample_library()
    told = json.loads(ask(question, "--json"))
    assert told["status"] == "complete"
    assert words in told["answer"]
    assert told["citations"]
    passages = {source["number"]: " ".join(source["passages"]) for source in told["sources"]}
    for citation in told["citations"]:
        quoted = citation["claim"].split("[")[0].strip(' -\n“”«»"„')
        assert quoted in passages[citation["number"]]
        assert quoted in citation["passage"]


def test_the_object_has_what_the_contract_names() -> None:
    ensure_sample_library()
    told = json.loads(ask("why does ice float?", "--json"))
    names = [
        "conversation",
        "message",
        "status",
        "answer",
        "sources",
        "citations",
        "steps",
        "usage",
        "receipt",
    ]
    assert set(names) <= set(told)
    assert set(told["sources"][0]) == {"number", "title", "url", "domain", "passages"}
    assert told["steps"][0]["tool"] == "search_library"


def test_the_answer_and_then_the_numbered_sources_are_printed(model: Any) -> None:
    ensure_sample_library()
    model([call("search_library", query="ice"), say("Ice floats [1].", pieces=3)])
    told = ask("Why?")
    assert "Ice floats [1]." in told
    assert told.index("Ice floats") < told.index("[1] ") < told.index("/library/")
    assert f"--conversation {Conversation.objects.get().pk}" in told


def test_what_a_command_leaves_behind_does_not_hinder_a_later_end(model: Any) -> None:
    model([say("Fine.")])
    ask("Why?")
    asyncio.run(manager.shutdown())


def test_a_question_goes_on_in_a_conversation(model: Any) -> None:
    server = model([say("One."), say("Two.")])
    first = json.loads(ask("First?", "--json"))
    ask("Second?", "--conversation", str(first["conversation"]), "--json")
    assert "First?" in json.dumps(server.requests[-1].body)
    assert Conversation.objects.count() == 1


def test_the_command_acts_as_the_owner(model: Any) -> None:
    model([say("Fine.")])
    ask("Why?")
    assert Run.objects.get().owner == the_owner()


@pytest.mark.parametrize(
    "arguments", [["", "--json"], ["x" * 20_001], ["Why?", "--conversation", "7"]]
)
def test_a_wrong_question_is_refused_in_a_sentence(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match=r"\.$"):
        ask(*arguments)
    assert Conversation.objects.count() == 0


def test_a_conversation_of_somebody_else_is_not_there() -> None:
    the_owner()
    other = Conversation.objects.create(owner=User.objects.create_user("other"))
    with pytest.raises(CommandError, match="no such conversation"):
        ask("Why?", "--conversation", str(other.pk))


def test_a_failed_turn_ends_the_command_with_its_reason(model: Any) -> None:
    model([{"reply": fail(401), "times": 5}])
    with pytest.raises(CommandError, match="key"):
        ask("Why?")


def test_the_printed_link_signs_the_owner_in() -> None:
    out = StringIO()
    call_command("signin_link", base="http://127.0.0.1:9000/", stdout=out)
    link = out.getvalue().strip()
    assert link.startswith("http://127.0.0.1:9000/sign-in/")
    client = Client()
    client.post(link.removeprefix("http://127.0.0.1:9000"))
    assert client.get("/").status_code == 200


def test_a_link_for_nobody_is_refused() -> None:
    with pytest.raises(CommandError, match="nobody-here"):
        call_command("signin_link", user="nobody-here")


def test_preparing_twice_makes_one_owner_and_one_library() -> None:
    for _ in range(2):
        call_command("prepare", stdout=StringIO())
    n_documents = LibraryDocument.objects.count()
    assert User.objects.filter(is_superuser=True).count() == 1
    assert n_documents > 30
    assert LibraryDocument.objects.values("folder", "path").distinct().count() == n_documents


def test_an_owner_with_another_name_stays_the_owner() -> None:
    ana = User.objects.create_superuser("ana", password="x")
    assert the_owner() == ana


def test_a_model_needs_both_its_address_and_its_name(settings: Any) -> None:
    settings.LUMINA_MODEL_URL, settings.LUMINA_MODEL = "http://127.0.0.1:1/v1", ""
    assert [error.id for error in checks.model_settings(None)] == ["lumina.E001"]
    settings.LUMINA_MODEL_URL, settings.LUMINA_MODEL = "", "llama"
    assert [error.id for error in checks.model_settings(None)] == ["lumina.E002"]
    settings.LUMINA_MODEL = ""
    assert checks.model_settings(None) == []


@pytest.mark.parametrize("bind", ["0.0.0.0", "192.168.1.20", "::", "lumina.home"])
def test_listening_beyond_this_machine_needs_a_password_first(settings: Any, bind: str) -> None:
    settings.LUMINA_BIND = bind
    owner = the_owner()
    found = checks.listens_elsewhere(None, databases=["default"])
    assert [error.id for error in found] == ["lumina.E003"]
    assert "changepassword" in str(found[0].hint)
    owner.set_password("correct horse battery")
    owner.save()
    assert checks.listens_elsewhere(None, databases=["default"]) == []


@pytest.mark.parametrize("bind", ["127.0.0.1", "::1", "localhost"])
def test_listening_on_this_machine_needs_none(settings: Any, bind: str) -> None:
    settings.LUMINA_BIND = bind
    assert checks.listens_elsewhere(None, databases=["default"]) == []
