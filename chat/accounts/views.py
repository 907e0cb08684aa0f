"""The doors for people who are not signed in, and the way out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login, logout
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from kombu.exceptions import OperationalError

from chat.accounts import invitations, limits, links, passwords, rules, visitors
from chat.accounts.forms import JoinForm, NewPasswordForm
from chat.models import SignInLink, User

BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignIn(LoginView):
    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        doors = {"sign_up": rules.sign_up_is_open(), "mail": rules.mail_is_set_up()}
        return super().get_context_data(**more) | doors

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.POST.get("username", "")
        wait = limits.take_sign_in(name, address(request))
        if wait:
            context = self.get_context_data(form=self.get_form_class()(request))
            return _later(request, self.template_name, context, wait)
        response = super().post(request, *args, **kwargs)
        if response.status_code == 302:
            limits.signed_in(name, address(request))
        return response


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """A GET only asks: link previews and scanners must not use the link up."""
    if wait := limits.take_door(address(request)):
        return _later(request, "accounts/link.html", {}, wait)
    if request.method == "POST":
        user = links.use(token)
        if user:
            login(request, user, backend=BACKEND)
            return redirect("home")
    usable = request.method == "GET" and links.is_open(token)
    status = 200 if usable else 410
    return render(request, "accounts/link.html", {"usable": usable}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("sign-in")


@require_http_methods(["GET", "POST"])
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The admin has no door of its own: this one leads to the one with rates and a log."""
    if request.user.is_authenticated and not person_of(request).is_staff:
        raise Http404
    return redirect(f"{reverse('sign-in')}?{request.GET.urlencode()}")


# --- A new account ------------------------------------------------------------------------------


@never_cache
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Open only where the installation says so; elsewhere there is no such page."""
    if not rules.sign_up_is_open():
        raise Http404
    return _join(request, {"open": True}, invitations.new_account)


@never_cache
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
def invited(request: HttpRequest, token: str) -> HttpResponse:
    if not invitations.is_open(token):
        if wait := limits.take_door(address(request)):
            return _later(request, "accounts/join.html", {}, wait)
        return render(request, "accounts/join.html", {"open": False}, status=410)
    return _join(request, {"open": True}, lambda *who: invitations.join(token, *who))


def _join(request: HttpRequest, context: dict[str, Any], make: Any) -> HttpResponse:
    form = JoinForm(request.POST or None)
    if request.method != "POST":
        return render(request, "accounts/join.html", context | {"form": form})
    if wait := limits.take_door(address(request)):
        return _later(request, "accounts/join.html", context | {"form": form}, wait)
    if not form.is_valid():
        return render(request, "accounts/join.html", context | {"form": form}, status=400)
    person = make(form.cleaned_data["username"], form.cleaned_data["password"])
    if person is None:
        return render(request, "accounts/join.html", {"open": False}, status=410)
    login(request, person, backend=BACKEND)
    return redirect("home")


# --- A new password -----------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "POST"])
def reset(request: HttpRequest) -> HttpResponse:
    """Asks for a mail with a link. The answer is the same whether there is such an account."""
    context = {"mail": rules.mail_is_set_up(), "sent": False, "fault": ""}
    if request.method == "POST" and rules.mail_is_set_up():
        typed = request.POST.get("who", "").strip()[:254]
        if wait := limits.take_reset(typed, address(request)):
            return _later(request, "accounts/reset.html", context, wait)
        context |= _asked_for_mail(request, typed)
    return render(request, "accounts/reset.html", context)


def _asked_for_mail(request: HttpRequest, typed: str) -> dict[str, Any]:
    from chat.tasks import mail_reset  # tasks import what this module is part of

    try:
        mail_reset.delay(typed, request.build_absolute_uri("/").rstrip("/"))
    except (OperationalError, OSError):
        return {"fault": "Mail cannot be sent at the moment. Try again later."}
    return {"sent": True}


@never_cache
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
def reset_by_link(request: HttpRequest, token: str) -> HttpResponse:
    person = links.user_of(token, SignInLink.Purpose.RESET)
    is_try = person is None or request.method == "POST"
    if is_try and (wait := limits.take_door(address(request))):
        return _later(request, "accounts/new_password.html", {}, wait)
    if person is None:
        return render(request, "accounts/new_password.html", {"usable": False}, status=410)
    form = NewPasswordForm(person, request.POST or None)
    context = {"usable": True, "form": form, "person": person}
    if request.method != "POST" or not form.is_valid():
        status = 400 if request.method == "POST" else 200
        return render(request, "accounts/new_password.html", context, status=status)
    return _set_by_link(request, token, form.cleaned_data["password"])


def _set_by_link(request: HttpRequest, token: str, password: str) -> HttpResponse:
    person = links.use(token, SignInLink.Purpose.RESET)
    if person is None:
        return render(request, "accounts/new_password.html", {"usable": False}, status=410)
    passwords.set_password(person, password)
    limits.signed_in(person.get_username())
    login(request, person, backend=BACKEND)
    return redirect("home")


# --- What all of them need ----------------------------------------------------------------------


def address(request: HttpRequest) -> str:
    return visitors.address_of_request(request, behind_proxy=rules.behind_proxy())


def _later(request: HttpRequest, template: str, context: dict[str, Any], wait: int) -> HttpResponse:
    fault = f"Too many tries. Wait {limits.in_words(wait)}, then try again."
    response = render(request, template, context | {"fault": fault, "later": True}, status=429)
    response["Retry-After"] = str(wait)
    return response


def person_of(request: HttpRequest) -> User:
    """Whoever is signed in: only pages that demand it ask."""
    assert isinstance(request.user, User)
    return request.user
