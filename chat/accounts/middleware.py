"""Knows who is being served, for sessions and the audit log, and notes when one was last seen.

It stands before the sessions' middleware, which saves them on the way out.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from chat.accounts import rules, sessions, visitors


class VisitorMiddleware(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> None:
        visitors.enter(
            visitors.Visitor(
                address=visitors.address_of_request(request, behind_proxy=rules.behind_proxy()),
                agent=request.headers.get("User-Agent", ""),
                person=lambda: getattr(request, "user", None),
            )
        )

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        visitor, store = visitors.current(), getattr(request, "session", None)
        if visitor and isinstance(store, sessions.SessionStore) and not store.modified:
            sessions.touch(store, visitor)
        visitors.enter(None)
        response.headers.setdefault("Cache-Control", "private")  # pages are one person's
        return response
