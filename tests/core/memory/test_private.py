"""What never goes into memory, and what only looks like it."""

from __future__ import annotations

import pytest

from memory.private import ADDRESS, EMAIL, KEY, PASSWORD, PHONE, screen, screen_secrets

JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0."
    "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("my password is hunter2", PASSWORD),
        ("- Password: hunter2", PASSWORD),
        ("contraseña: secreta1", PASSWORD),
        ("mein Passwort ist Blumenwiese", PASSWORD),
        ("パスワードはhunter2です", PASSWORD),
        ("My PIN is 4821", PASSWORD),
        ("password = 'hunter2222'", PASSWORD),
        ("the key AKIAIOSFODNN7EXAMPLE", KEY),
        ("ghp_" + "a1B2c3D4e5F6" * 3, KEY),
        (f"token {JWT}", KEY),
        ("Authorization: Bearer 8f3A9kLmQ2xYz7Tr5WvB1nCe", KEY),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", KEY),
        ("Ana's number is +34 612 345 678", PHONE),
        ("Bob: (212) 555-0187", PHONE),
        ("Ana: 612 345 678", PHONE),
        ("Write to ana@example.org", EMAIL),
        ("Ana lives at 5 Main Street", ADDRESS),
        ("Calle Mayor 5", ADDRESS),
        ("Hauptstraße 12", ADDRESS),
        ("12 rue de Rivoli", ADDRESS),
    ],
)
def test_private_things_are_left_out_and_named_by_kind(line: str, kind: str) -> None:
    screened = screen(f"- Likes tea\n{line}" if "\n" not in line else line)
    assert screened.left_out == (kind,)
    assert line.split("\n")[0] not in screened.text
    assert screened.text in ("- Likes tea", "")


@pytest.mark.parametrize(
    "line",
    [
        "I forgot my password",
        "my password manager is Bitwarden",
        "The password is required for login to the page",
        "The token is expired",
        "- Born: 1990-05-03",
        "uses Django 5.2.19 and Python 3.11",
        "1,234,567 users",
        "postgres 16.2, redis 7.2.4, 400 lines",
        "I live in Kraków",
        "- Deadline: 2026-12-24 18:00",
        "run 123e4567-e89b-12d3-a456-426614174000",
        "see knowledge/projects/api-project-number-12.md",
        "https://github.com/pallets/click/issues/1234567",
        "The street is loud",
    ],
)
def test_what_only_looks_private_is_kept(line: str) -> None:
    screened = screen(line)
    assert (screened.text, screened.left_out) == (line, ())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- Phone: +34 612 345 678", "My phone number is +34 612 345 678"),
        ("- Email: me@example.org", "my e-mail is me@example.org"),
        ("- Address: 5 Main Street", "I live at 5 Main Street"),
    ],
)
def test_a_persons_own_number_and_address_are_theirs_to_keep(line: str, said: str) -> None:
    assert screen(line, said=said).left_out == ()
    assert screen(line, said="My friend's number is +34 612 345 678").left_out != ()


def test_by_hand_only_secrets_are_kept_out() -> None:
    assert screen_secrets("- Ana: +34 612 345 678").left_out == ()
    assert screen_secrets("- my password is hunter2").left_out == (PASSWORD,)
