"""What people type at the doors and on the account pages, checked. Faults are kind sentences."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.validators import UnicodeUsernameValidator

from chat.accounts.content import HOURS, REASON_CHARS
from chat.accounts.passwords import has_password
from chat.accounts.usage import FIELDS
from chat.models import User


def zones() -> list[str]:
    return sorted(zone for zone in available_timezones() if "/" in zone or zone == "UTC")


def password_field(label: str, autocomplete: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, strip=False, max_length=1_000, widget=widget)


class _WithNewPassword(forms.Form):
    """`person` is whose password it will be; the rules compare it with their name and address."""

    def person(self) -> User:
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        first, again = data.get("password"), data.get("again")
        if first and again and first != again:
            self.add_error("again", "The two are not the same. Type it once more.")
        elif first:
            try:
                password_validation.validate_password(first, self.person())
            except forms.ValidationError as fault:
                self.add_error("password", fault)
        return data


class DeleteAccountForm(forms.Form):
    """A yes to losing everything, with the password where there is one."""

    sure = forms.BooleanField(
        error_messages={"required": "Nothing was deleted: tick the box first, if you mean it."}
    )

    def __init__(self, person: User, data: Any = None) -> None:
        super().__init__(data)
        self._person = person
        if has_password(person):
            self.fields["password"] = password_field("Your password", "current-password")

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self._person.check_password(password):
            raise forms.ValidationError("That is not your password. Nothing was deleted.")
        return password


class JoinForm(_WithNewPassword):
    """A new account."""

    username = forms.CharField(
        label="Name",
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = password_field("Password", "new-password")
    again = password_field("Password, once more", "new-password")

    def clean_username(self) -> str:
        name = User.normalize_username(self.cleaned_data["username"])
        if User.objects.filter(username__iexact=name).exists():
            raise forms.ValidationError("Somebody has this name already. Take another.")
        return name

    def person(self) -> User:
        return User(username=self.cleaned_data.get("username", ""))


class NewPasswordForm(_WithNewPassword):
    """A new password by a link."""

    password = password_field("New password", "new-password")
    again = password_field("New password, once more", "new-password")

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._person = person

    def person(self) -> User:
        return self._person


class ChangePasswordForm(NewPasswordForm):
    """A new password of whoever is signed in: the old one is asked for, where there is one."""

    old = password_field("Password until now", "current-password")
    field_order = ("old", "password", "again")

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(person, *args, **kwargs)
        if not has_password(person):
            del self.fields["old"]

    def clean_old(self) -> str:
        old = self.cleaned_data["old"]
        if not self._person.check_password(old):
            raise forms.ValidationError("That is not your password until now.")
        return old


class ZoneForm(forms.Form):
    time_zone = forms.ChoiceField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "As my browser says"), *((zone, zone) for zone in zones())]


class InviteForm(forms.Form):
    email = forms.EmailField(required=False)
    for_operator = forms.BooleanField(required=False)


class QuotaForm(forms.Form):
    """Numbers; empty takes the installation's."""

    tokens_a_day = forms.IntegerField(required=False, min_value=0, max_value=10**15)
    tokens_a_month = forms.IntegerField(required=False, min_value=0, max_value=10**15)
    snapshot_bytes = forms.IntegerField(required=False, min_value=0, max_value=10**15)
    library_bytes = forms.IntegerField(required=False, min_value=0, max_value=10**15)

    def values(self) -> dict[str, int | None]:
        return {name: self.cleaned_data[name] for name in FIELDS}


class OpenContentForm(forms.Form):
    reason = forms.CharField(max_length=REASON_CHARS)
    hours = forms.TypedChoiceField(choices=[(n, n) for n in HOURS], coerce=int)


def first_fault(form: forms.Form) -> str:
    """The first fault as one sentence, with the field's name where that helps."""
    for name, faults in form.errors.items():
        fault = str(faults[0])
        return (
            fault if name in {"__all__", "password", "again", "old", "sure"} else f"{name}: {fault}"
        )
    return ""
