"""The page that searches everything that was said."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from chat import store
from chat.clock import known_zone
from chat.models import Conversation, User
from chat.searching_history import Found, Wanted, find

MAX_ID = 2**63 - 1
MAX_QUERY_CHARS = 400
MOST_FOUND = 50
ROLES = (("", "You and Lumina"), ("user", "You"), ("assistant", "Lumina"))


class SearchForm(forms.Form):
    """What the page is asked for. `within` is the conversation to stay in, `beside` the one that
    the person came from."""

    q = forms.CharField(required=False, max_length=MAX_QUERY_CHARS)
    role = forms.ChoiceField(required=False, choices=ROLES)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)
    within = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    beside = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        since, until = data.get("since"), data.get("until")
        if since and until and since > until:
            raise forms.ValidationError("The first day is later than the last one.")
        return data

    def fault(self) -> str:
        """The first fault as a sentence."""
        for name, faults in self.errors.items():
            if name in ("since", "until"):
                return "A day is written like 2026-03-31."
            return str(faults[0]) if name in ("q", "__all__") else "That filter is not known."
        return ""


@require_safe
@login_required
def search(request: HttpRequest) -> HttpResponse:
    form = SearchForm(request.GET)
    fault = form.fault()
    asked = form.cleaned_data
    beside = _conversation(request, asked.get("within") or asked.get("beside"))
    context = {
        "on_search": True,
        "query": request.GET.get("q", ""),
        "roles": ROLES,
        "asked": request.GET,
        "is_narrowed": any(request.GET.get(name) for name in ("role", "since", "until", "within")),
        "beside": beside,
        "fault": fault,
        "found": [] if fault else _found(request, asked),
        "most": MOST_FOUND,
    }
    return render(request, "chat/search.html", context, status=400 if fault else 200)


def _found(request: HttpRequest, asked: dict[str, Any]) -> list[Found]:
    words = " ".join(asked["q"].split())
    if not words:
        return []
    owner = _owner(request)
    zone = ZoneInfo(known_zone(owner.time_zone, settings.TIME_ZONE))
    wanted = Wanted(
        text=words,
        limit=MOST_FOUND,
        conversation=asked["within"],
        role=asked["role"] or None,
        since=asked["since"],
        until=asked["until"],
    )
    return find(owner, wanted, zone)


def _conversation(request: HttpRequest, pk: int | None) -> Conversation | None:
    if pk is None:
        return None
    try:
        return store.own_conversation(_owner(request), pk)
    except store.Refused as refused:
        raise Http404(str(refused)) from None


def _owner(request: HttpRequest) -> User:
    """Whoever is signed in: only pages that demand it ask."""
    assert isinstance(request.user, User)
    return request.user
