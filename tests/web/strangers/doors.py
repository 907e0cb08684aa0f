"""How each address is tried, by its name: method, path, what is posted."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from chat.accounts import invitations
from chat.accounts.models import Session
from chat.models import (
    LibraryDocument,
    Run,
)
from memory.models import MemoryFile, Proposal
from memory.summary_models import Summary

Door = tuple[str, str, dict[str, Any]]


def doors(run: Run, document: LibraryDocument) -> dict[str, Door]:
    """Every address but the admin's, with the ids of what alice owns."""
    return chat_doors(run, document) | memory_doors(run) | account_doors(run) | people_doors(run)


def chat_doors(run: Run, document: LibraryDocument) -> dict[str, Door]:
    c = run.conversation_id
    return {
        "home": ("get", "/", {}),
        "ask": ("post", "/ask/", {"text": "Hello?", "conversation": c}),
        "conversations": ("get", "/c/", {}),
        "conversation": ("get", f"/c/{c}/", {}),
        "rename": ("post", f"/c/{c}/rename/", {"title": "Stolen"}),
        "delete": ("post", f"/c/{c}/delete/", {}),
        "show-version": ("post", f"/c/{c}/version/", {"message": run.answer_id}),
        "delete-message": ("post", f"/messages/{run.answer_id}/delete/", {}),
        "search": ("get", f"/search/?q=secret&within={c}", {}),
        "stop": ("post", f"/runs/{run.pk}/stop/", {}),
        "turn": ("get", f"/c/{c}/turns/{run.pk}/", {}),
        "working": ("get", f"/runs/{run.pk}/working/", {}),
        "source": ("get", f"/runs/{run.pk}/sources/1/", {}),
        "document": ("get", f"/library/{document.pk}", {}),
        "sidebar": ("get", f"/sidebar/?conversation={c}", {}),
        "check": ("post", "/check/", {}),
        "healthz": ("get", "/healthz", {}),
        "readyz": ("get", "/readyz", {}),
        "metrics": ("get", "/metrics", {}),
    }


def memory_doors(run: Run) -> dict[str, Door]:
    note = MemoryFile.objects.get(owner=run.owner_id)
    wish = Proposal.objects.get(owner=run.owner_id)
    summary, _ = Summary.objects.get_or_create(
        owner=run.owner,
        conversation=run.conversation,
        first_message=run.question_id,
        last_message=run.answer_id,
        defaults={"status": "failed", "error": "A secret error", "next_try_at": timezone.now()},
    )
    return {
        "memory": ("get", "/memory/", {}),
        "memory-new": ("post", "/memory/new/", {"path": "knowledge/new.md", "text": "- New"}),
        "memory-file": ("get", f"/memory/{note.pk}/", {}),
        "memory-edit": ("post", f"/memory/{note.pk}/edit/", {"text": "- Stolen", "base": "1"}),
        "memory-undo": ("post", f"/memory/{note.pk}/undo/", {}),
        "memory-restore": ("post", f"/memory/{note.pk}/restore/", {"number": "1"}),
        "memory-delete": ("post", f"/memory/{note.pk}/delete/", {}),
        "memory-decide": ("post", f"/memory/proposals/{wish.pk}/", {"answer": "yes"}),
        "memory-forget-all": ("post", "/memory/forget/", {"sure": "yes"}),
        "memory-retry": ("post", f"/memory/summaries/{summary.pk}/retry/", {}),
    }


def account_doors(run: Run) -> dict[str, Door]:
    session = Session.objects.filter(user=run.owner_id).earliest("seen_at")
    return {
        "sign-in": ("get", "/sign-in/", {}),
        "sign-in-by-link": ("get", "/sign-in/nonsense/", {}),
        "sign-out": ("post", "/sign-out/", {}),
        "sign-up": ("post", "/sign-up/", {"username": "new"}),
        "invited": ("get", "/invited/nonsense/", {}),
        "reset": ("post", "/reset/", {"who": "alice"}),
        "reset-by-link": ("get", "/reset/nonsense/", {}),
        "account": ("get", "/account/", {}),
        "account-password": ("post", "/account/password/", {"password": "stolen", "old": ""}),
        "account-time-zone": ("post", "/account/time-zone/", {"time_zone": "Asia/Tokyo"}),
        "account-delete": ("post", "/account/delete/", {}),
        "account-end": ("post", f"/account/sessions/{session.handle}/end/", {}),
        "account-end-others": ("post", "/account/sessions/end/", {}),
    }


def people_doors(run: Run) -> dict[str, Door]:
    c, owner = run.conversation_id, run.owner_id
    invitation = invitations.open_ones().get()
    return {
        "people": ("get", "/people/", {}),
        "people-invite": ("post", "/people/invite/", {}),
        "people-withdraw": ("post", f"/people/invitations/{invitation.pk}/withdraw/", {}),
        "settings": ("post", "/people/settings/", {"LUMINA_MODEL_URL": "https://evil.example"}),
        "people-log": ("get", "/people/log/", {}),
        "person": ("get", f"/people/{owner}/", {}),
        "person-change": ("post", f"/people/{owner}/change/", {"do": "disable"}),
        "person-reset": ("post", f"/people/{owner}/reset/", {}),
        "person-quota": ("post", f"/people/{owner}/quota/", {"tokens_a_day": "1"}),
        "person-open": (
            "post",
            f"/people/{owner}/content/open/",
            {"reason": "I would like to know.", "hours": "1"},
        ),
        "person-close": ("post", f"/people/{owner}/content/close/", {}),
        "person-content": ("get", f"/people/{owner}/content/", {}),
        "person-conversation": ("get", f"/people/{owner}/content/{c}/", {}),
    }
