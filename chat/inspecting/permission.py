"""Whether somebody may read what somebody else wrote: asked here, by every page for operators."""

from __future__ import annotations

from chat.models import User


def may_see_content(operator: User, owner: User) -> bool:
    """One's own texts alone. Of anybody else's an operator sees structure, counts and reasons."""
    return operator.pk == owner.pk
