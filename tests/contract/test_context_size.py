"""What servers say of how much their model can read, against real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from chat.providers.models.context_size import context_tokens


@contextmanager
def serving(pages: Mapping[str, Any]) -> Iterator[str]:
    """A server that has these pages: JSON values, or raw text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            body = page if isinstance(page, str) else json.dumps(page)
            self.send_response(404 if page is None else 200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def listed(**more: Any) -> dict[str, Any]:
    other = {"id": "other", "max_model_len": 999_999}
    return {"object": "list", "data": [other, {"id": "small", **more}]}


@pytest.mark.parametrize(
    ("pages", "size"),
    [
        ({"/v1/models": listed(max_model_len=32_768)}, 32_768),
        ({"/v1/models": listed(context_length=131_072)}, 131_072),
        ({"/v1/models": listed(loaded_context_length=4_096, context_length=131_072)}, 4_096),
        (
            {
                "/v1/models": listed(meta={"n_ctx_train": 131_072}),
                "/props": {"default_generation_settings": {"n_ctx": 8_192}},
            },
            8_192,
        ),
        (
            {
                "/v1/models": listed(),
                "/api/ps": {"models": [{"name": "small", "context_length": 4_096}]},
            },
            4_096,
        ),
        ({"/v1/models": listed()}, None),
        ({"/v1/models": listed(max_model_len=True)}, None),
        ({"/v1/models": listed(max_model_len=-5, context_length="many")}, None),
        ({"/v1/models": "<html>Welcome</html>"}, None),
        ({"/v1/models": "[" * 100_000}, None),
        ({"/v1/models": [1, 2], "/props": 3, "/api/ps": {"models": "none"}}, None),
        ({}, None),
    ],
)
async def test_what_the_server_says_is_read_and_nothing_else(
    pages: dict[str, Any], size: int | None
) -> None:
    with serving(pages) as url:
        assert await context_tokens(url, "small") == size


async def test_a_server_that_is_not_there_says_nothing() -> None:
    assert await context_tokens("http://127.0.0.1:9/v1", "small") is None
