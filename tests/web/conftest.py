"""Alice owns, Charlie is a stranger; a scripted model answers; nothing goes out."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings as django_settings
from django.test import Client

from chat.database import in_database
from chat.models import Run, User
from chat.store import Ask, begin_run
from memory import later
from tests.servers.model_server import ModelServer

WAIT_SECONDS = 10


@pytest.fixture(autouse=True)
def _offline(settings: Any) -> None:
    settings.LUMINA_WEB = False
    settings.LUMINA_MODEL_DISCOVERY = False
    # Scripted answers are seldom written from their sources; who tests the check turns it on.
    settings.LUMINA_CHECK_ANSWERS = False
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    for name in ("ASKS_PER_MINUTE", "SEARCHES_PER_MINUTE", "DOOR_TRIES"):
        setattr(settings, f"LUMINA_{name}", 0)  # tests of rates set their own
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: Any) -> None:
    """Nothing goes into the queue of the background: nobody takes it out here."""
    monkeypatch.setattr(later, "_send_beside", lambda task, ids: None)


@pytest.fixture
def alice(db: Any) -> User:
    return User.objects.create_user("alice", is_staff=True, is_superuser=True)


@pytest.fixture
def charlie(db: Any) -> User:
    return User.objects.create_user("charlie")


@pytest.fixture
def browser_of() -> Callable[[User], Client]:
    """A browser in which that person is signed in."""

    def signed_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return signed_in


@pytest.fixture
def model(settings: Any) -> Iterator[Callable[..., ModelServer]]:
    """Starts a scripted model server and makes it the configured one."""
    started: list[ModelServer] = []

    def start(turns: Any, **options: Any) -> ModelServer:
        server = ModelServer(turns, **options)
        server.__enter__()
        started.append(server)
        settings.LUMINA_MODEL_URL = server.url
        settings.LUMINA_MODEL = "scripted"
        return server

    yield start
    for server in started:
        server.__exit__(None, None, None)


@pytest.fixture
async def _services_closed(model: Any) -> AsyncIterator[None]:
    """Runs end and connections close before the model's server does, which is why it is named."""
    yield
    from chat.runs import manager
    from chat.services import close_services

    await manager.shutdown()
    await close_services()


class PageSocket:
    """The socket of one page, from the outside."""

    def __init__(self, cookie: str, origin: str = "http://localhost") -> None:
        from lumina.asgi import application

        headers = [(b"origin", origin.encode()), (b"host", b"localhost")]
        if cookie:
            headers.append((b"cookie", cookie.encode()))
        self._socket = WebsocketCommunicator(application, "/ws/", headers=headers)

    async def open(self) -> bool:
        accepted, _ = await self._socket.connect(timeout=WAIT_SECONDS)
        return accepted

    async def close(self) -> None:
        await self._socket.disconnect(timeout=WAIT_SECONDS)

    async def send(self, message: Any) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        await self._socket.send_to(text_data=text)

    async def send_frame(self, frame: str | bytes) -> None:
        """A frame as it is, of text or of bytes."""
        kind = "bytes" if isinstance(frame, bytes) else "text"
        await self._socket.send_input({"type": "websocket.receive", kind: frame})

    async def receive(self) -> dict[str, Any]:
        return json.loads(await self._socket.receive_from(timeout=WAIT_SECONDS))

    async def closing_code(self) -> int:
        output = await self._socket.receive_output(timeout=WAIT_SECONDS)
        assert output["type"] == "websocket.close"
        return output["code"]

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """Everything up to the first message of that type, which is the last in the list."""
        heard = []
        while True:
            message = await self.receive()
            heard.append(message)
            if message["type"] == kind:
                return heard

    async def ask(self, text: str = "Why does ice float?", **more: Any) -> list[dict[str, Any]]:
        """Asks and hears everything until the answer's end (or the refusal)."""
        await self.send({"type": "ask", "text": text, "client_id": "c-1"} | more)
        heard = []
        while True:
            message = await self.receive()
            heard.append(message)
            if message["type"] in {"run_finished", "refused"}:
                return heard


@pytest.fixture
async def page_of(
    _services_closed: None, transactional_db: Any
) -> AsyncIterator[Callable[[User | None], Any]]:
    """Opens the socket of a page on which that person is signed in."""
    opened: list[PageSocket] = []

    async def open_page(user: User | None, **options: Any) -> PageSocket:
        cookie = await in_database(_cookie_of)(user) if user else ""
        page = PageSocket(cookie, **options)
        if await page.open():
            opened.append(page)
        return page

    yield open_page
    for page in opened:
        await page.close()


async def until(happened: Callable[[], Any]) -> None:
    """Waits for something that comes about by itself; gives up after a while."""
    for _ in range(WAIT_SECONDS * 50):
        now = happened()
        if await now if inspect.isawaitable(now) else now:
            return
        await asyncio.sleep(0.02)
    pytest.fail("What was waited for did not come about.")


def _cookie_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return f"{django_settings.SESSION_COOKIE_NAME}={client.cookies['sessionid'].value}"


def begun(owner: User, text: str = "Why does ice float?", **more: Any) -> Run:
    """A run that has begun and that nobody drives."""
    ask = Ask(**({"client_id": f"client-{Run.objects.count()}", "text": text} | more))
    return begin_run(owner, ask)[0]
