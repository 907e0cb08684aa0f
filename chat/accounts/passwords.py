"""Passwords: the rules in kind words, setting one, and the links that let one be set anew."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import password_validation as rules
from django.db import transaction

from chat.accounts import audit, links, sessions
from chat.models import SignInLink, User


class LongEnough(rules.MinimumLengthValidator):
    def get_error_message(self) -> str:
        return f"Take at least {self.min_length} characters: a short sentence is good."

    def get_help_text(self) -> str:
        return (
            f"At least {self.min_length} characters. Four or five words that nobody would put "
            "together are easy to keep and hard to guess."
        )


class NotCommon(rules.CommonPasswordValidator):
    def get_error_message(self) -> str:
        return "Many people use this one, so it is among the first that are tried. Take another."

    def get_help_text(self) -> str:
        return ""


class NotNumbersAlone(rules.NumericPasswordValidator):
    def get_error_message(self) -> str:
        return "Numbers alone are guessed quickly. Add some words."

    def get_help_text(self) -> str:
        return ""


class NotAboutYou(rules.UserAttributeSimilarityValidator):
    def get_error_message(self) -> str:
        return "This is too close to your name or address. Take something nobody would connect."

    def get_help_text(self) -> str:
        return ""


def has_password(person: User) -> bool:
    """Django takes an account that never had one for one with a usable password."""
    return bool(person.password) and person.has_usable_password()


def set_password(person: User, password: str, *, keep: str | None = None) -> None:
    """Sets it, ends every session but the one to keep, and lets no older link be used."""
    with transaction.atomic():
        person.set_password(password)
        person.save(update_fields=["password"])
        SignInLink.objects.filter(user=person, used_at=None).delete()
        audit.note(audit.Action.PASSWORD_CHANGED, about=person)
        sessions.end(person.pk, keep=keep)


def reset_link(person: User, *, by: Any = None) -> str:
    """The token of a link with which the person sets a new password; older ones end."""
    SignInLink.objects.filter(user=person, purpose=SignInLink.Purpose.RESET, used_at=None).delete()
    audit.note(audit.Action.RESET_LINK, by=by, about=person)
    return links.new_link(person, purpose=SignInLink.Purpose.RESET)
