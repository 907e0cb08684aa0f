"""What operators do to accounts, each thing logged. Who may do what is decided here alone.

An operator looks after people; the owner (a superuser) also after operators. Nobody can shut
themselves out.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from chat import store
from chat.accounts import audit, passwords, sessions
from chat.accounts.audit import Action
from chat.accounts.models import Quota
from chat.accounts.usage import FIELDS
from chat.models import Run, User
from chat.statuses import RunStatus


class NotAllowed(Exception):
    """The message is a plain sentence."""


def role_of(person: User) -> str:
    if person.is_superuser:
        return "owner"
    return "operator" if person.is_staff else "person"


def may_manage(operator: User, person: User) -> bool:
    if operator.pk == person.pk or not operator.is_staff:
        return False
    return operator.is_superuser or not (person.is_staff or person.is_superuser)


def is_only_owner(person: User) -> bool:
    """Without them nobody could look after the installation."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    return person.is_superuser and not others.exists()


def _demand(operator: User, person: User) -> None:
    if operator.pk == person.pk:
        raise NotAllowed("This is your own account. Another operator can change it.")
    if not may_manage(operator, person):
        raise NotAllowed("Only the owner can change the accounts of operators.")


def disable(operator: User, person: User) -> None:
    """No way in any more, no session, no socket, and no answer that is still being written."""
    _demand(operator, person)
    with transaction.atomic():
        User.objects.filter(pk=person.pk).update(is_active=False)
        sessions.end(person.pk)
        for run in Run.objects.of(person).filter(status=RunStatus.RUNNING):
            store.request_stop(person, run.pk)
        audit.note(Action.DISABLED, by=operator, about=person)


def enable(operator: User, person: User) -> None:
    _demand(operator, person)
    User.objects.filter(pk=person.pk).update(is_active=True)
    audit.note(Action.ENABLED, by=operator, about=person)


def end_sessions(operator: User, person: User) -> None:
    _demand(operator, person)
    n = sessions.end(person.pk)
    audit.note(Action.SESSION_ENDED, by=operator, about=person, note=f"{n} of them")


def make_operator(operator: User, person: User, *, yes: bool) -> None:
    _demand(operator, person)
    if not operator.is_superuser:
        raise NotAllowed("Only the owner can make somebody an operator.")
    if person.is_superuser:
        raise NotAllowed("An owner is an operator already.")
    User.objects.filter(pk=person.pk).update(is_staff=yes)
    person.is_staff = yes
    audit.note(Action.ROLE_CHANGED, by=operator, about=person, note=role_of(person))


def reset_link(operator: User, person: User) -> str:
    """The token of a link for a new password. The person can see that it was made."""
    _demand(operator, person)
    if not person.is_active:
        raise NotAllowed("This account is disabled. Enable it first.")
    return passwords.reset_link(person, by=operator)


def set_quota(operator: User, person: User, values: Mapping[str, int | None]) -> None:
    """None takes the installation's value, 0 is no limit. Operators may set their own too."""
    if operator.pk != person.pk:
        _demand(operator, person)
    elif not operator.is_superuser:
        raise NotAllowed("Only the owner can change an operator's quota.")
    Quota.objects.update_or_create(owner=person, defaults={name: values[name] for name in FIELDS})
    audit.note(Action.QUOTA_CHANGED, by=operator, about=person)
