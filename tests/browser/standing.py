"""The stage of the browser tests outside of pytest, for scripts that measure or photograph."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.stage import ROWS, stage_settings
from tests.lumina_server import LuminaServer, Template
from tests.servers.model_server import ModelServer
from tests.servers.search import Row, searxng_answer
from tests.servers.web import web_server


@contextmanager
def standing_stage(rows: Sequence[Row] = ROWS) -> Iterator[tuple[LuminaServer, ModelServer]]:
    """A server with data of its own and its scripted model."""
    with (
        tempfile.TemporaryDirectory(prefix="lumina-stage-") as folder,
        web_server(searxng_answer(rows)) as web,
        ModelServer() as model,
    ):
        template = Template.make(Path(folder))
        settings = stage_settings(web, model)
        server = LuminaServer({**template.copy(Path(folder) / "server"), **settings})
        server.start()
        try:
            yield server, model
        finally:
            server.stop()


@contextmanager
def standing_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["LUMINA_CHROMIUM"], args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()
