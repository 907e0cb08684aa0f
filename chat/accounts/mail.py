"""The two mails that Lumina sends, where a mail server is set up."""

from __future__ import annotations

from django.core.mail import send_mail
from django.db.models import Q
from django.urls import reverse

from chat.accounts import passwords, rules
from chat.models import User


def send_reset(typed: str, base: str) -> None:
    """A link for a new password, to the address that the account has. Nobody is told whether
    there was one: neither the page that asked nor the log."""
    if not rules.mail_is_set_up() or not typed:
        return
    known = User.objects.filter(is_active=True).exclude(email="")
    for person in known.filter(Q(username=typed) | Q(email__iexact=typed))[:3]:
        link = base + reverse("reset-by-link", args=[passwords.reset_link(person)])
        send_mail(
            "A new password for Lumina",
            f"Hello {person.get_username()},\n\nwith this link you can set a new password. It "
            f"works once, for a day:\n\n{link}\n\nIf you did not ask for it, do nothing: your "
            "password stays as it is.\n",
            None,
            [person.email],
        )


def send_invitation(address: str, link: str) -> None:
    if rules.mail_is_set_up():
        days = rules.invitation_lifetime().days
        send_mail(
            "An invitation to Lumina",
            f"Hello,\n\nyou are invited to Lumina. With this link you can make an account. It "
            f"works once, for {days} day{'' if days == 1 else 's'}:\n\n{link}\n",
            None,
            [address],
        )
