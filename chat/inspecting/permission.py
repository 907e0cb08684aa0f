"""Whether an operator may read what somebody wrote: asked here, by every page of the admin."""

from __future__ import annotations

from chat.accounts import content
from chat.models import User


def may_see_content(operator: User, owner: User) -> bool:
    """One's own texts, and another's while a stated and logged leave to read them lasts. Without
    it an operator sees structure, counts and reasons."""
    return operator.pk == owner.pk or content.open_access(operator, owner) is not None
