"""The form alone: no socket, no script, the same run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from chat.database import in_database
from chat.models import Conversation, Run
from tests.servers.model_script import say
from tests.web.conftest import begun

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def browser(alice: Any, _services_closed: None) -> AsyncClient:
    client = AsyncClient()
    await sync_to_async(client.force_login)(alice)
    return client


async def test_a_posted_question_leads_to_its_conversation_and_is_answered(
    browser: AsyncClient, model: Any
) -> None:
    model([say("It is lighter.")])
    response = await browser.post("/ask/", {"text": "Why does ice float?"})
    run = await in_database(Run.objects.get)()
    assert response.status_code == 302
    assert response["Location"] == f"/c/{run.conversation_id}/#turn-{run.question_id}"
    for _ in range(200):
        page = (await browser.get(f"/c/{run.conversation_id}/")).content.decode()
        if 'data-status="complete"' in page:
            break
        assert 'http-equiv="refresh"' in page
        await asyncio.sleep(0.02)
    assert 'data-status="complete"' in page
    assert "It is lighter." in page


@pytest.mark.parametrize("text", ["", "   ", "x" * 20_001])
async def test_a_bad_question_comes_back_with_a_sentence(browser: AsyncClient, text: str) -> None:
    response = await browser.post("/ask/", {"text": text})
    assert response.status_code == 400
    assert 'role="alert"' in response.content.decode()
    assert await in_database(Conversation.objects.count)() == 0


async def test_a_question_into_a_busy_conversation_comes_back(
    browser: AsyncClient, alice: Any
) -> None:
    run = await in_database(begun)(alice)
    form = {"text": "My long question?", "conversation": run.conversation_id}
    response = await browser.post("/ask/", form)
    assert response.status_code == 409
    html = response.content.decode()
    assert "still being written" in html
    assert "My long question?</textarea>" in html


async def test_an_unknown_conversation_is_not_there(browser: AsyncClient) -> None:
    response = await browser.post("/ask/", {"text": "Hello?", "conversation": 12345})
    assert response.status_code == 404
    assert await in_database(Conversation.objects.count)() == 0


async def test_the_same_form_sent_twice_is_one_question(browser: AsyncClient, model: Any) -> None:
    model([say("Fine.")])
    form = {"text": "Why?", "client_id": "abc"}
    first = await browser.post("/ask/", form)
    second = await browser.post("/ask/", form)
    assert first["Location"] == second["Location"]
    assert await in_database(Run.objects.count)() == 1
