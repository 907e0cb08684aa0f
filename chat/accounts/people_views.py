"""The operators' pages: people, invitations, use, quotas, and the log. Whoever is no operator does
not find them. What people wrote is on none of them but the two at the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Max, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from chat.accounts import audit, content, invitations, mail, people, rules, usage
from chat.accounts.forms import InviteForm, OpenContentForm, QuotaForm, first_fault
from chat.accounts.people import NotAllowed
from chat.accounts.views import person_of
from chat.models import Conversation, Quota, User
from chat.turns import path_page

ENTRIES_A_PAGE = 100
View = Callable[..., HttpResponse]


def operators_only(view: View) -> View:
    """For others there is no such page."""

    @wraps(view)
    @never_cache
    @login_required
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not person_of(request).is_staff:
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@require_safe
@operators_only
def index(request: HttpRequest) -> HttpResponse:
    return _index(request)


@require_POST
@operators_only
def invite(request: HttpRequest) -> HttpResponse:
    """The link is on the page that follows, and nowhere else: it cannot be read again."""
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _index(request, status=400, fault=first_fault(form))
    by, email = person_of(request), form.cleaned_data["email"]
    for_operator = form.cleaned_data["for_operator"]
    if for_operator and not by.is_superuser:
        return _index(request, status=403, fault="Only the owner can invite an operator.")
    token = invitations.invite(by, email=email, for_operator=for_operator)
    link = request.build_absolute_uri(reverse("invited", args=[token]))
    return _index(request, link=link, mailed=_mailed(email, link))


def _mailed(email: str, link: str) -> str:
    """What became of the mail; empty where none was to be sent."""
    if not email or not rules.mail_is_set_up():
        return ""
    try:
        mail.send_invitation(email, link)
    except OSError as error:  # what smtplib raises is one of these
        return f"The mail could not be sent ({type(error).__name__}). Pass the link on yourself."
    return f"It was mailed to {email}."


@require_POST
@operators_only
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    if not invitations.withdraw(person_of(request), pk):
        raise Http404("There is no such invitation.")
    return redirect("people")


@require_safe
@operators_only
def log(request: HttpRequest) -> HttpResponse:
    page = Paginator(audit.everything(), ENTRIES_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "accounts/log.html", {"on_people": True, "page": page})


# --- One person ---------------------------------------------------------------------------------


@require_safe
@operators_only
def person(request: HttpRequest, pk: int) -> HttpResponse:
    return _person(request, _someone(pk))


@require_POST
@operators_only
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Disables, enables, signs out, or changes the role."""
    someone, by = _someone(pk), person_of(request)
    actions: dict[str, Callable[[], None]] = {
        "disable": lambda: people.disable(by, someone),
        "enable": lambda: people.enable(by, someone),
        "sign-out": lambda: people.end_sessions(by, someone),
        "make-operator": lambda: people.make_operator(by, someone, yes=True),
        "make-person": lambda: people.make_operator(by, someone, yes=False),
    }
    action = actions.get(request.POST.get("do", ""))
    if action is None:
        return _person(request, someone, status=400, fault="Nothing was chosen.")
    try:
        action()
    except NotAllowed as reason:
        return _person(request, someone, status=403, fault=str(reason))
    return redirect("person", pk)


@require_POST
@operators_only
def reset_link(request: HttpRequest, pk: int) -> HttpResponse:
    someone = _someone(pk)
    try:
        token = people.reset_link(person_of(request), someone)
    except NotAllowed as reason:
        return _person(request, someone, status=403, fault=str(reason))
    link = request.build_absolute_uri(reverse("reset-by-link", args=[token]))
    return _person(request, someone, link=link)


@require_POST
@operators_only
def quota(request: HttpRequest, pk: int) -> HttpResponse:
    someone, form = _someone(pk), QuotaForm(request.POST)
    if not form.is_valid():
        return _person(request, someone, status=400, fault=first_fault(form))
    try:
        people.set_quota(person_of(request), someone, form.values())
    except NotAllowed as reason:
        return _person(request, someone, status=403, fault=str(reason))
    return redirect("person", pk)


# --- What a person wrote, with a reason ---------------------------------------------------------


@require_POST
@operators_only
def open_content(request: HttpRequest, pk: int) -> HttpResponse:
    someone, form = _someone(pk), OpenContentForm(request.POST)
    if not form.is_valid():
        return _person(request, someone, status=400, fault=first_fault(form))
    try:
        content.open_content(person_of(request), someone, **form.cleaned_data)
    except NotAllowed as reason:
        return _person(request, someone, status=403, fault=str(reason))
    return redirect("person-content", pk)


@require_POST
@operators_only
def close_content(request: HttpRequest, pk: int) -> HttpResponse:
    content.close(person_of(request), _someone(pk))
    return redirect("person", pk)


@require_safe
@operators_only
def conversations(request: HttpRequest, pk: int) -> HttpResponse:
    someone, access = _opened(request, pk)
    rows = Conversation.objects.of(someone)[:200]
    context = {"on_people": True, "person": someone, "access": access, "rows": rows}
    return render(request, "accounts/content.html", context)


@require_safe
@operators_only
def conversation(request: HttpRequest, pk: int, conversation: int) -> HttpResponse:
    """The words of both sides, read only. Each look is logged."""
    someone, access = _opened(request, pk)
    row = get_object_or_404(Conversation.objects.of(someone), pk=conversation)
    content.note_read(person_of(request), row)
    context = {"on_people": True, "person": someone, "access": access, "row": row}
    before = request.GET.get("before", "")
    context["page"] = path_page(row, before=int(before) if before.isdecimal() else None)
    return render(request, "accounts/content_conversation.html", context)


def _opened(request: HttpRequest, pk: int) -> tuple[User, Any]:
    someone = _someone(pk)
    access = content.open_access(person_of(request), someone)
    if access is None:
        raise Http404
    return someone, access


# --- What the pages hold ------------------------------------------------------------------------


def _someone(pk: int) -> User:
    return get_object_or_404(User, pk=pk)


def _everyone() -> QuerySet[User]:
    return User.objects.annotate(seen_at=Max("sessions__seen_at")).order_by("username")


def _index(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    rows = [(one, people.role_of(one), usage.use_of(one)) for one in _everyone()]
    context = {
        "on_people": True,
        "rows": rows,
        "invitations": invitations.open_ones().select_related("made_by"),
        "mail": rules.mail_is_set_up(),
        "sign_up": rules.sign_up_is_open(),
        "days": rules.invitation_lifetime().days,
    }
    return render(request, "accounts/people.html", context | more, status=status)


def _person(request: HttpRequest, someone: User, *, status: int = 200, **more: Any) -> HttpResponse:
    me = person_of(request)
    own = Quota.objects.filter(owner=someone).first()
    context = {
        "on_people": True,
        "person": someone,
        "role": people.role_of(someone),
        "use": usage.use_of(someone),
        "quota": own,
        "general": rules.limits(),
        "n_sessions": someone.sessions.count(),
        "may_manage": people.may_manage(me, someone),
        "may_open": content.may_open(me) and me.pk != someone.pk,
        "access": content.open_access(me, someone),
        "hours": content.HOURS,
        "entries": audit.of_person(someone.pk)[:30],
    }
    return render(request, "accounts/person.html", context | more, status=status)
