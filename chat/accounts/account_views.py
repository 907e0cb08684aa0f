"""A person's own page: password, time zone, where they are signed in, what they used, and what was
done with their account."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from chat.accounts import audit, limits, passwords, rules, sessions, usage
from chat.accounts.forms import ChangePasswordForm, DeleteAccountForm, ZoneForm, first_fault
from chat.accounts.models import ContentAccess
from chat.accounts.people import is_only_owner, role_of
from chat.accounts.views import person_of
from chat.forgetting import forget_account
from chat.models import User

SHOWN_ENTRIES = 30
ONLY_OWNER = (
    "You are the only owner: without you nobody could look after this installation. Nothing was "
    "deleted. `python manage.py createsuperuser` makes another owner."
)


@never_cache
@require_safe
@login_required
def account(request: HttpRequest) -> HttpResponse:
    return _page(request)


@require_POST
@login_required
@sensitive_post_parameters("old", "password", "again")
def change_password(request: HttpRequest) -> HttpResponse:
    """This browser stays signed in, every other session ends."""
    person = person_of(request)
    if wait := limits.take_sign_in(person.get_username(), ""):
        response = _page(request, status=429, fault=f"Wait {limits.in_words(wait)}, then go on.")
        response["Retry-After"] = str(wait)
        return response
    form = ChangePasswordForm(person, request.POST)
    if not form.is_valid():
        return _page(request, status=400, password_form=form)
    passwords.set_password(person, form.cleaned_data["password"], keep=request.session.session_key)
    update_session_auth_hash(request, person)
    limits.signed_in(person.get_username())
    return redirect("account")


@require_POST
@login_required
def change_time_zone(request: HttpRequest) -> HttpResponse:
    form = ZoneForm(request.POST)
    if not form.is_valid():
        return _page(request, status=400, fault=first_fault(form))
    zone = form.cleaned_data["time_zone"]
    User.objects.filter(pk=person_of(request).pk).update(time_zone=zone)
    return redirect("account")


@require_POST
@login_required
def end_session(request: HttpRequest, handle: str) -> HttpResponse:
    person = person_of(request)
    if not sessions.end(person.pk, handle=handle):
        raise Http404("There is no such session.")
    audit.note(audit.Action.SESSION_ENDED, about=person, note="one session")
    return redirect("account")


@require_POST
@login_required
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    n = sessions.end(person.pk, keep=request.session.session_key)
    audit.note(audit.Action.SESSION_ENDED, about=person, note=f"{n} others")
    return redirect("account")


@require_POST
@login_required
@sensitive_post_parameters("password")
def delete_account(request: HttpRequest) -> HttpResponse:
    """The person with everything of theirs. The way leads to the door, which they cannot pass."""
    person = person_of(request)
    if is_only_owner(person):
        return _page(request, status=409, fault=ONLY_OWNER)
    if wait := limits.take_sign_in(person.get_username(), ""):
        response = _page(request, status=429, fault=f"Wait {limits.in_words(wait)}, then go on.")
        response["Retry-After"] = str(wait)
        return response
    form = DeleteAccountForm(person, request.POST)
    if not form.is_valid():
        return _page(request, status=400, delete_form=form, fault=first_fault(form))
    logout(request)
    forget_account(person)
    return redirect("sign-in")


def _page(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    person = person_of(request)
    context = {
        "on_account": True,
        "person": person,
        "role": role_of(person),
        "has_password": passwords.has_password(person),
        "password_form": ChangePasswordForm(person),
        "delete_form": DeleteAccountForm(person),
        "is_only_owner": is_only_owner(person),
        "log_days": rules.audit_lifetime(),
        "zone_form": ZoneForm({"time_zone": person.time_zone}),
        "sessions": sessions.of(person.pk),
        "this_session": request.session.session_key,
        "use": usage.use_of(person),
        "entries": audit.of_person(person.pk)[:SHOWN_ENTRIES],
        "accesses": ContentAccess.objects.filter(person=person).select_related("operator"),
    }
    return render(request, "accounts/account.html", context | more, status=status)
