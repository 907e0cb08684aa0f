"""Background work: ids in, one call, safe to run twice."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from chat import store
from chat.accounts import mail, tidying
from chat.library.index import scan_all
from chat.models import WorkerSign

SCHEDULE_SIGN = "schedule"
ANSWER_SIGN = "answer"


@shared_task(ignore_result=True)
def sweep_runs() -> None:
    """Marks runs whose server died, also in conversations that nobody opens."""
    store.sweep_all()
    _sign(SCHEDULE_SIGN)


@shared_task(ignore_result=True)
def scan_library() -> None:
    """Takes up what has changed in the folders of the library."""
    scan_all()


@shared_task(ignore_result=True)
def tidy_people() -> None:
    """Drops sessions, links, counts and entries of the audit log whose time is over."""
    tidying.tidy()


@shared_task(ignore_result=True)
def mail_reset(typed: str, base: str) -> None:
    """Mails a link for a new password to whoever that name or address belongs to, if anyone."""
    mail.send_reset(typed, base)


@shared_task(ignore_result=True)
def answer_check(name: str) -> None:
    """Shows the self-check that asked that tasks are done."""
    if WorkerSign.objects.filter(name=name).update(at=timezone.now()):
        _sign(ANSWER_SIGN)


def _sign(name: str) -> None:
    WorkerSign.objects.update_or_create(name=name, defaults={"at": timezone.now()})
