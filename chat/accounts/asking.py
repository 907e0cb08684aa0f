"""The one way to begin a run from a door: within the person's rate and quota."""

from __future__ import annotations

from dataclasses import replace

from chat import store
from chat.accounts import limits, usage
from chat.models import Run, User
from chat.store import Ask, Refused


def begin_run(owner: User, ask: Ask, address: str) -> tuple[Run, bool]:
    """As `store.begin_run`. An ask that was taken before is given back and counts for nothing.

    Raises Refused.
    """
    known = Run.objects.of(owner).filter(client_id=ask.client_id).first()
    if known:
        return known, False
    _admit(owner, address)
    run, is_new = store.begin_run(owner, replace(ask, address=address))
    if is_new:
        usage.add(owner.pk, asks=1)
    return run, is_new


def _admit(owner: User, address: str) -> None:
    refused = usage.refusal(owner)
    if refused:
        reason, wait = refused
        again = f" There is more in {limits.in_words(wait)}." if wait else ""
        raise Refused("quota", f"{reason}{again} Your account page shows your use.", wait)
    wait = limits.take_ask(owner.pk, address)
    if wait:
        raise Refused(
            "too_many",
            f"That were many questions in a short time. Ask again in {limits.in_words(wait)}.",
            wait,
        )
