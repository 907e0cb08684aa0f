"""The mails as a mail server gets them, and the settings that lead there."""

from __future__ import annotations

import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from chat.accounts.mail import send_invitation

PROBE = """
import django; django.setup()
from django.conf import settings as s
print(s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_HOST_USER, s.EMAIL_HOST_PASSWORD, s.EMAIL_USE_TLS,
      s.EMAIL_USE_SSL, s.DEFAULT_FROM_EMAIL)
"""


class Letters(socketserver.StreamRequestHandler):
    """As much of SMTP as one letter needs."""

    def handle(self) -> None:
        self._say("220 here")
        for line in self.rfile:
            if line.upper().startswith(b"DATA"):
                self._say("354 go on")
                letter = b"".join(iter(self.rfile.readline, b".\r\n"))
                self.server.letters.append(message_from_bytes(letter))  # type: ignore[attr-defined]
            self._say("250 well")

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@pytest.fixture
def mail_server(settings: Any, monkeypatch: Any) -> Iterator[list[Any]]:
    monkeypatch.setattr("django.core.mail.utils.DNS_NAME._fqdn", "localhost", raising=False)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Letters) as server:
        server.daemon_threads = True
        server.letters = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.LUMINA_SMTP_HOST = settings.EMAIL_HOST = "127.0.0.1"
        settings.EMAIL_PORT = server.server_address[1]
        settings.EMAIL_USE_TLS = False
        yield server.letters  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


def test_an_invitation_arrives_with_its_link(mail_server: list[Any]) -> None:
    link = "https://lumina.example/invited/token/"
    send_invitation("dora@example.org", link)
    (letter,) = mail_server
    assert letter["To"] == "dora@example.org"
    assert letter["From"] == "lumina@localhost"
    assert link in letter.get_payload(decode=True).decode()


def test_without_a_mail_server_nothing_is_sent(mail_server: list[Any], settings: Any) -> None:
    settings.LUMINA_SMTP_HOST = ""
    send_invitation("dora@example.org", "https://lumina.example/invited/token/")
    assert mail_server == []


@pytest.mark.parametrize(
    ("security", "uses"),
    [("starttls", "True False"), ("tls", "False True"), ("none", "False False")],
)
def test_the_settings_are_those_of_the_environment(
    tmp_path: Path, security: str, uses: str
) -> None:
    env = {
        "PATH": "/usr/bin:/bin",
        "DJANGO_SETTINGS_MODULE": "lumina.settings",
        "LUMINA_VAR": str(tmp_path),
        "LUMINA_SMTP_HOST": "mail.example",
        "LUMINA_SMTP_PORT": "2525",
        "LUMINA_SMTP_USER": "lumina",
        "LUMINA_SMTP_PASSWORD": "pass",
        "LUMINA_SMTP_SECURITY": security,
        "LUMINA_MAIL_FROM": "lumina@example.org",
    }
    told = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=django_settings.BASE_DIR,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.strip() == f"mail.example 2525 lumina pass {uses} lumina@example.org"
