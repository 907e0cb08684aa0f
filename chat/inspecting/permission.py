"""Whether an operator may read what somebody wrote: asked here, by every page of the admin."""

from __future__ import annotations

from chat.accounts import content
from chat.models import Conversation, User


def may_see_content(operator: User, owner: User) -> bool:
    """What they have stated a reason to read, while that lasts. Otherwise structure, counts and
    reasons are shown; one's own words stand on one's own pages."""
    return content.open_access(operator, owner) is not None


def note_reading(operator: User, conversation: Conversation) -> None:
    """Every reading is in the log, which the person sees."""
    content.note_read(operator, conversation)
