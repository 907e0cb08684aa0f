"""The owner's page for the model's server and the search engines. Not an operator's: whoever names
the model's server reads everything that is asked."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from chat.accounts import stored
from chat.accounts.views import person_of

LABELS = {
    "LUMINA_MODEL_URL": "Address of the model's server",
    "LUMINA_MODEL": "Name of the model",
    "LUMINA_MODEL_KEY": "Key of the model's server",
    "LUMINA_SEARXNG_URL": "Address of SearXNG",
    "LUMINA_TAVILY_KEY": "Key for Tavily",
    "LUMINA_BRAVE_KEY": "Key for Brave Search",
}


def _field(name: str) -> forms.Field:
    if name.endswith("_URL"):
        return forms.URLField(required=False, max_length=2_000, assume_scheme="http")
    return forms.CharField(required=False, max_length=2_000)


class SettingsForm(forms.Form):
    """Texts by the settings' names. A key that is left empty stays as it is."""

    def __init__(self, changeable: list[stored.Shown], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for one in changeable:
            self.fields[one.name] = _field(one.name)
            if one.is_key:
                self.fields[f"forget-{one.name}"] = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        both = {"LUMINA_MODEL_URL", "LUMINA_MODEL"} <= set(self.fields)
        if both and bool(data.get("LUMINA_MODEL_URL")) != bool(data.get("LUMINA_MODEL")):
            raise forms.ValidationError("The model needs both its server's address and its name.")
        return data

    def changes(self) -> dict[str, str]:
        found = {}
        for name in stored.NAMES:
            value = self.cleaned_data.get(name, "")
            if name in stored.KEYS:
                if self.cleaned_data.get(f"forget-{name}"):
                    found[name] = ""
                elif value:
                    found[name] = value
            elif name in self.fields:
                found[name] = value.rstrip("/")
        return found


@never_cache
@login_required
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def stored_settings(request: HttpRequest) -> HttpResponse:
    if not person_of(request).is_superuser:
        raise Http404
    told = stored.shown()
    form = SettingsForm([one for one in told if one.state != "environment"], request.POST or None)
    if request.method == "POST" and form.is_valid():
        stored.store(person_of(request), form.changes())
        return redirect("settings")
    context = {
        "on_people": True,
        "form": form,
        "rows": [
            (one, LABELS[one.name], form[one.name].errors if one.name in form.fields else [])
            for one in told
        ],
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "accounts/settings.html", context, status=status)
