"""The scripted model server itself: what other tests rely on."""

import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.servers.model_server import ModelServer, Turn, call, fail, say

HELLO = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": "Hello?"}]}
TOOL_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "found"}


def ask(server: ModelServer, body: dict = HELLO, **headers: str) -> httpx.Response:
    return httpx.post(f"{server.url}/chat/completions", json=body, headers=headers, trust_env=False)


def deltas(response: httpx.Response) -> list[dict]:
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    return [choice["delta"] for choice in choices]


def answer(response: httpx.Response) -> str:
    return "".join(delta.get("content", "") for delta in deltas(response))


def test_turns_are_played_in_order_and_then_the_script_is_over():
    with ModelServer([say("one", pieces=3), say("two")]) as server:
        assert [answer(ask(server)) for _ in range(2)] == ["one", "two"]
        assert ask(server).status_code == 500


def test_a_turn_can_wait_for_its_question_and_for_the_results_of_tools():
    found = {"when": "Hello", "after_tools": True, "reply": say("found it")}
    search = Turn(call("web_search", query="x"), when="Hello", after_tools=False)
    body_with_result = {**HELLO, "messages": [*HELLO["messages"], TOOL_RESULT]}
    with ModelServer([found, search, say("else")]) as server:
        assert deltas(ask(server))[0]["tool_calls"][0]["function"]["name"] == "web_search"
        assert answer(ask(server, body_with_result)) == "found it"
        other = {**HELLO, "messages": [{"role": "user", "content": "Bye"}]}
        assert answer(ask(server, other)) == "else"


def test_a_reply_can_be_made_from_the_request():
    with ModelServer([Turn(lambda body: say(body["model"]), when=lambda body: True)]) as server:
        assert [answer(ask(server)) for _ in range(2)] == ["scripted"] * 2


def test_usage_is_sent_only_when_it_was_asked_for():
    with ModelServer([say("a b"), say("a b")]) as server:
        assert "usage" not in ask(server).text
        counted = ask(server, {**HELLO, "stream_options": {"include_usage": True}})
        assert '"completion_tokens": 2' in counted.text


def test_requests_are_recorded_and_refusals_are_served():
    with ModelServer([fail(429, "slow down", retry_after="3")], key="k", strict=True) as server:
        assert ask(server).status_code == 401
        assert ask(server, {**HELLO, "model": "x"}, authorization="Bearer k").status_code == 404
        busy = ask(server, authorization="Bearer k")
        assert (busy.status_code, busy.text, busy.headers["retry-after"]) == (429, "slow down", "3")
        assert len(server.bodies) == 3


def test_a_cut_connection_cannot_be_taken_for_an_end():
    turn = [{"text": "half"}, {"cut": True}]
    with ModelServer([turn]) as server, pytest.raises(httpx.TransportError):
        ask(server)


def test_a_client_that_leaves_is_recorded_with_the_time():
    with ModelServer([[{"hang": True}]]) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/chat/completions", json=HELLO, timeout=0.1, trust_env=False)
        left_at = server.requests[0].wait_until_ended()
        assert left_at is not None
        assert time.monotonic() - left_at < 1


@pytest.mark.processes
def test_it_runs_as_a_process_of_its_own_from_a_file(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"models": ["tiny"], "turns": [say("from a file")]}))
    command = [sys.executable, "-m", "tests.servers.model_server", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            with httpx.Client(base_url=url.removesuffix("/v1"), trust_env=False) as client:
                assert client.get("/v1/models").json()["data"][0]["id"] == "tiny"
                assert "from a file" in client.post("/v1/chat/completions", json=HELLO).text
                client.post("/script", json=[say("replaced")])
                assert "replaced" in client.post("/v1/chat/completions", json=HELLO).text
                assert client.get("/recorded").json()[1]["body"] == HELLO
        finally:
            process.terminate()
