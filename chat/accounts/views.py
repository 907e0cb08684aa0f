"""The doors for people who are not signed in, and the way out."""

from __future__ import annotations

from django.contrib.auth import login, logout
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from chat.accounts import links

BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignIn(LoginView):
    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """A GET only asks: link previews and scanners must not use the link up."""
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
