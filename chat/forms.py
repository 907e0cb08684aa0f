"""What comes in, checked at the door. Each fault is one sentence that says what to do."""

from __future__ import annotations

import secrets
from typing import Any

from django import forms

from chat.clock import known_zone
from chat.store import Ask, SessionFacts
from chat.wiring import question_max_chars
from memory.service import clean_text, without_secrets

MAX_ID = 2**63 - 1


class QuestionField(forms.CharField):
    """A person's words, without what nobody can see in them."""

    def to_python(self, value: Any) -> str:
        text = (super().to_python(value) or "").replace("\r\n", "\n")
        return clean_text(text, author="user").strip()


class FactField(forms.CharField):
    """One line that the person wrote for this conversation. A password or a key is refused."""

    def clean(self, value: Any) -> str:
        text = " ".join(clean_text(str(value or ""), author="user").split())
        if without_secrets(text) != text:
            raise forms.ValidationError("This looks like a password or a key; leave it out.")
        return str(super().clean(text))


class AskForm(forms.Form):
    """A question, or a wish to edit, regenerate or continue one. Unknown fields are ignored.

    With `session` the session facts come along: an empty one is taken back. `asks_to_keep` says
    that the page asked whether the name and the style of another conversation are kept.
    """

    text = QuestionField(required=False)
    client_id = forms.RegexField(
        r"^[\w-]{1,64}$",
        required=False,
        error_messages={"invalid": "The page sent a wrong id. Reload it and try again."},
    )
    conversation = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    after = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    edits = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    regenerates = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    continues = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    time_zone = forms.CharField(required=False, max_length=64)
    session = forms.BooleanField(required=False)
    folder = forms.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    name = FactField(required=False, max_length=80)
    style = FactField(required=False, max_length=200)
    asks_to_keep = forms.BooleanField(required=False)
    keep = forms.BooleanField(required=False)

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        limit = question_max_chars()
        if len(text) > limit:
            raise forms.ValidationError(
                f"The question has {len(text):,} characters; at most {limit:,} are taken. "
                "Shorten it, or put the long text into a file of your library."
            )
        return text

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        kinds = [name for name in ("edits", "regenerates", "continues") if data.get(name)]
        if len(kinds) > 1:
            raise forms.ValidationError("Ask for one thing at a time.")
        asks_text = not kinds or kinds == ["edits"]
        if asks_text and not data.get("text") and "text" not in self.errors:
            raise forms.ValidationError("Write a question first.")
        return data

    def ask(self) -> Ask:
        """The ask of a valid form."""
        data = self.cleaned_data
        return Ask(
            client_id=data["client_id"] or secrets.token_urlsafe(12),
            text=data["text"],
            conversation=data["conversation"],
            after=data["after"],
            edits=data["edits"],
            regenerates=data["regenerates"],
            continues=data["continues"],
            time_zone=known_zone(data["time_zone"]) if data["time_zone"] else "",
            facts=self._facts() if data["session"] else None,
        )

    def _facts(self) -> SessionFacts:
        data = self.cleaned_data
        if data["asks_to_keep"] and not data["keep"]:
            return SessionFacts(folder=data["folder"])
        return SessionFacts(folder=data["folder"], name=data["name"], style=data["style"])

    def first_error(self) -> str:
        """The first fault as one sentence."""
        for name, faults in self.errors.items():
            fault = str(faults[0])
            return fault if name in {"text", "client_id", "__all__"} else f"{name}: {fault}"
        return ""
