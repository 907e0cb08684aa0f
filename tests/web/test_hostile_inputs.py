"""Whatever comes in at any door: no fault of the server, no hang, and nothing of other people.

The doors are read from the URL configuration, so that one that is added is tried as well.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from chat.agent.events import StepStarted, TextAdded
from chat.database import in_database
from chat.models import Conversation, Message, Run, User
from chat.store import append_events, interrupt
from memory import store as memory
from memory.models import MemoryFile
from memory.store import By
from tests.servers.model_script import say
from tests.web.conftest import begun

pytestmark = pytest.mark.django_db

AT_LEAST = 5_000
SLOWLY = 8  # tries of a door that asks other services each time
SLOW_DOORS = {"check/"}
SECRET = "Zanzibar-Quark-1729"
LONGEST_SECONDS = 10.0  # on a machine that does other work as well; a few milliseconds otherwise

NASTY = [
    "", " ", "0", "-1", "1", "2", "3", "9" * 18, "9" * 40, "1.5", "1e9", "٣", "NaN", "null",
    "true", "\x00", "a\x00b", "\ud83d", "\u202e\u200b", "é" * 300, "💥",
    "\r\nSet-Cookie: x=1", "%00", "%", "%zz", "..", "../../etc/passwd", "..%2f..%2f",
    "/etc/passwd", "C:\\x", "//x.example",
    "<script>alert(1)</script>", "' OR 1=1 --", '"; DROP TABLE chat_run; --', "{{ 7*7 }}",
    "{% include 'x' %}", "${7*7}", "javascript:alert(1)", "https://evil.example/", "[1][2]",
    "<!--SOURCES:[{", "]" * 99, "a" * 5_000, "ß" * 100, "AND OR NOT (", '"', "*", "a AND", "NEAR(",
    "\\", "|", "&a=b", "?x#y", "knowledge/x.md",
]  # fmt: skip
FIELDS = [
    "text", "client_id", "conversation", "after", "edits", "regenerates", "continues", "title",
    "message", "before", "q", "next", "path", "content", "revision", "answer", "confirm", "action",
    "_selected_action", "username", "password", "csrfmiddlewaretoken", "page", "o", "all", "e", "p",
    "time_zone", "_popup", "_to_field", "token", "email", "role", "since", "until", "version",
]  # fmt: skip
METHODS = ["GET", "GET", "POST", "POST", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"]
HEADERS = [
    "HTTP_X_REQUEST_ID",
    "HTTP_ACCEPT",
    "HTTP_ACCEPT_LANGUAGE",
    "HTTP_REFERER",
    "HTTP_COOKIE",
]
HEADERS += ["HTTP_AUTHORIZATION", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_RANGE"]
HEADERS += ["HTTP_IF_MODIFIED_SINCE", "HTTP_X_REQUESTED_WITH", "HTTP_HOST", "HTTP_ORIGIN"]
KINDS = [
    "application/x-www-form-urlencoded",
    "application/json",
    "text/plain",
    "multipart/form-data",
]
KINDS += ["multipart/form-data; boundary=x", "application/json; charset=nonsense", "", "x"]


def doors(patterns: list[Any] | None = None, before: str = "") -> Iterator[str]:
    """Every route, as it is written: `c/<int:pk>/`."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        route = str(one.pattern) if isinstance(one.pattern, RoutePattern) else ""
        if isinstance(one, URLResolver):
            yield from doors(one.url_patterns, before + route)
        elif isinstance(one, URLPattern) and isinstance(one.pattern, RoutePattern):
            yield before + route


DOORS = sorted({*doors(), "", "nothing/here/"})
TRIES = -(-AT_LEAST // (len(DOORS) - len(SLOW_DOORS)))

nasty = st.sampled_from(NASTY) | st.text(max_size=40)
numbers = st.sampled_from(["0", "1", "2", "3", "007", "9" * 18, str(2**63), "9" * 40])
fields = st.dictionaries(st.sampled_from(FIELDS), nasty | st.lists(nasty, max_size=3), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | nasty,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(nasty, inner, max_size=4),
    max_leaves=8,
)
bodies = st.one_of(
    st.binary(max_size=200), values.map(lambda value: json.dumps(value).encode()), st.just(b"{")
)


@st.composite
def asked(draw: st.DrawFn, door: str) -> dict[str, Any]:
    """The arguments of a request to a door."""
    path = "".join(
        draw(numbers if part.startswith("int:") else nasty) if is_blank else part
        for part, is_blank in _parts(door)
    )
    request: dict[str, Any] = {
        "path": "/" + path.encode("utf-8", "replace").decode(),
        "method": draw(st.sampled_from(METHODS)),
        "query": draw(fields),
        "headers": draw(st.dictionaries(st.sampled_from(HEADERS), nasty, max_size=2)),
    }
    if draw(st.booleans()):
        return {**request, "form": draw(fields)}
    return {**request, "body": draw(bodies), "kind": draw(st.sampled_from(KINDS))}


def _parts(door: str) -> Iterator[tuple[str, bool]]:
    for number, part in enumerate(door.replace(">", "<").split("<")):
        yield part, number % 2 == 1


def send(client: Client, request: dict[str, Any]) -> Any:
    from urllib.parse import quote, urlencode

    pairs = {name: _sendable(value) for name, value in request["query"].items()}
    headers = {name: _header(value) for name, value in request["headers"].items()}
    query = urlencode(pairs, doseq=True)
    if "form" in request:
        form = {name: _sendable(value) for name, value in request["form"].items()}
        body, kind = urlencode(form, doseq=True).encode(), KINDS[0]
    else:
        body, kind = request["body"], request["kind"]
    path = quote(request["path"]) + (f"?{query}" if query else "")
    return client.generic(request["method"], path, body, kind, **headers)


def _sendable(value: Any) -> Any:
    if isinstance(value, list):
        return [_sendable(one) for one in value]
    return value.encode("utf-8", "surrogatepass")


def _header(value: str) -> str:
    """A web server lets no line end and no other control character into a header."""
    text = "".join(char for char in value if char.isprintable())
    return text.encode("utf-8", "replace").decode("latin-1")


@pytest.fixture
def house(alice: User, charlie: User, monkeypatch: Any) -> dict[str, Client]:
    """Something secret of Alice's behind every door, something of Charlie's, and nobody answers."""
    from chat import views

    monkeypatch.setattr(views.manager, "start", lambda run_id: None)
    monkeypatch.setattr(views.hub, "publish", lambda *given: None)
    for person, words in ((alice, SECRET), (charlie, "Something else")):
        run = begun(person, f"{words}?")
        append_events(run.pk, 0, [StepStarted(1), TextAdded(words)])
        interrupt(run.pk)
        memory.put(person.pk, "knowledge/x.md", words, By())
    clients = {"alice": Client(), "charlie": Client(), "nobody": Client()}
    clients["alice"].force_login(alice)
    clients["charlie"].force_login(charlie)
    return clients


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_whatever_comes(
    house: dict[str, Client], alice: User, charlie: User, door: str
) -> None:
    people = {"alice": alice, "charlie": charlie}
    before = _belongings(alice)

    @examples(
        max_examples=SLOWLY if door in SLOW_DOORS else TRIES,
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(asked(door), st.sampled_from(["charlie", "nobody", "charlie", "alice"]))
    def tried(request: dict[str, Any], who: str) -> None:
        client = house[who]
        began = time.monotonic()
        response = send(client, request)
        body = b"".join(response) if response.streaming else response.content
        assert time.monotonic() - began < LONGEST_SECONDS * (2 if door in SLOW_DOORS else 1)
        assert response.status_code < 500 or door == "readyz"
        assert b"Traceback" not in body
        assert settings.SECRET_KEY.encode() not in body
        if who == "alice":
            before.update(_belongings(alice))
        else:
            assert SECRET.encode() not in body
            assert _belongings(alice) == before
        if who in people and settings.SESSION_COOKIE_NAME not in client.cookies:
            client.force_login(people[who])

    tried()


def _belongings(owner: User) -> dict[str, Any]:
    messages = Message.objects.of(owner)
    return {
        "conversations": list(
            Conversation.objects.of(owner).order_by("pk").values_list("pk", "title")
        ),
        "messages": list(messages.order_by("pk").values_list("pk", "text")),
        "runs": list(Run.objects.of(owner).order_by("pk").values_list("pk", "stop_requested")),
        "files": list(
            MemoryFile.objects.filter(owner=owner).order_by("pk").values_list("pk", "text")
        ),
    }


@pytest.mark.parametrize("path", ["/runs/{}/sources/1/", "/runs/1/sources/{}/", "/c/{}/"])
def test_a_number_that_no_database_can_hold_is_not_found(
    house: dict[str, Client], path: str
) -> None:
    assert house["charlie"].get(path.format("9" * 40)).status_code == 404


def test_enough_is_tried() -> None:
    assert sum(SLOWLY if door in SLOW_DOORS else TRIES for door in DOORS) >= AT_LEAST


MESSAGE_FIELDS = ["type", "text", "client_id", "conversation", "after", "edits", "regenerates"]
MESSAGE_FIELDS += ["continues", "time_zone", "run", "runs", "newest", "seq", "x"]
frames = st.one_of(
    st.dictionaries(st.sampled_from(MESSAGE_FIELDS), values, max_size=6).flatmap(
        lambda message: st.sampled_from(["ask", "stop", "watch", "other"]).map(
            lambda kind: {**message, "type": kind}
        )
    ).map(json.dumps),
    values.map(json.dumps),
    st.text(max_size=50),
    st.binary(max_size=50),
)  # fmt: skip


@pytest.mark.django_db(transaction=True)
@examples(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
@given(messages=st.lists(frames, min_size=20, max_size=20))
async def test_the_socket_answers_whatever_comes_and_goes_on(
    page_of: Any, alice: User, charlie: User, model: Any, messages: list[str | bytes]
) -> None:
    if not await in_database(Run.objects.of(alice).exists)():
        await in_database(begun)(alice, f"{SECRET}?")
    model([{"when": ".", "reply": say("Fine.")}])
    page = await page_of(charlie)
    for message in messages:
        await page.send_frame(message)
    await page.send({"type": "stop", "run": 0, "client_id": "the last"})
    heard = ""
    while '"the last"' not in heard:
        received = json.dumps(await page.receive())
        heard += received
    assert SECRET not in heard
    await page.close()
