"""Conversations as an operator sees them: how they are remembered, and what each turn was sent.

No title and no text is shown to somebody who may not read it (`chat.inspecting.permission`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from chat.accounts import audit
from chat.inspecting.permission import may_see_content, note_reading
from chat.inspecting.views import PARTS, turn_page
from chat.models import Conversation, Run, User
from chat.statuses import RunStatus
from memory.service import IndexedState, check, index_state, rebuild, summaries_of

TURNS_SHOWN = 100
DIFFERENCES_SHOWN = 20


class ConversationAdmin(admin.ModelAdmin):
    """The list, a page for each, and the page of each turn. Django's own forms, histories and
    deletion are not among them: they would show titles."""

    list_display = ("number", "owner", "n_messages", "n_turns", "created_at", "updated_at")
    fields = ("owner", "created_at", "updated_at")
    list_select_related = ("owner",)
    list_per_page = 50

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="chat_conversation_changelist"),
            path("<int:pk>/", view(self.state_view), name="chat_conversation_change"),
            path("<int:pk>/index/", view(self.index_view), name="chat_conversation_index"),
            path("<int:pk>/turns/<int:run>/", view(self.turn_view), name="chat_conversation_turn"),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        rows = super().get_queryset(request)
        return rows.annotate(
            n_messages=Count("messages", distinct=True), n_turns=Count("runs", distinct=True)
        )

    @admin.display(description="conversation", ordering="pk")
    def number(self, row: Conversation) -> str:
        return f"Conversation {row.pk}"

    @admin.display(description="messages", ordering="n_messages")
    def n_messages(self, row: Any) -> int:
        return row.n_messages

    @admin.display(description="turns", ordering="n_turns")
    def n_turns(self, row: Any) -> int:
        return row.n_turns

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    # --- The pages --------------------------------------------------------------------------------

    @method_decorator(require_safe)
    def state_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self._conversation(request, pk)
        runs = row.runs.order_by("-pk").defer("reason")[:TURNS_SHOWN]
        context = self.admin_site.each_context(request) | {
            "title": self.number(row),
            "row": row,
            "index": index_of(row),
            "summaries": summaries_of(row.owner_id, row.pk),
            "may_rebuild": may_rebuild(request),
            "turns": [(run, turn_counts(run)) for run in runs],
        }
        return render(request, "admin/chat/conversation/state.html", context)

    @method_decorator(require_POST)
    def index_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Builds the index anew, or compares it with the messages; the page says what came of it.
        Both take time in proportion to the conversation."""
        row = self._conversation(request, pk)
        if not may_rebuild(request):
            raise PermissionDenied
        if request.POST.get("do") == "check":
            self._say_differences(request, check(row.pk))
        else:
            n_messages = rebuild(row.pk)
            audit.note(audit.Action.INDEX_REBUILT, about=row.owner, target=f"conversation {row.pk}")
            messages.success(request, f"The index was built anew: {n_messages:,} messages.")
        return redirect("admin:chat_conversation_change", row.pk)

    def _say_differences(self, request: HttpRequest, differences: Sequence[str]) -> None:
        if not differences:
            messages.success(request, "The index is what the messages say.")
        for one in differences[:DIFFERENCES_SHOWN]:
            messages.error(request, one)

    @method_decorator([require_safe, never_cache])
    def turn_view(self, request: HttpRequest, pk: int, run: int) -> HttpResponse:
        row = self._conversation(request, pk)
        found = get_object_or_404(row.runs.select_related(*PARTS), pk=run)
        operator = operator_of(request)
        with_content = may_see_content(operator, row.owner)
        if with_content:
            note_reading(operator, row)
        return turn_page(
            request,
            found,
            frame="inspecting/operator.html",
            with_content=with_content,
            with_links=False,
        )

    def _conversation(self, request: HttpRequest, pk: int) -> Conversation:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return get_object_or_404(self.get_queryset(request).select_related("owner"), pk=pk)


@dataclass(frozen=True, slots=True)
class Index:
    """How a conversation is indexed. `n_waiting` messages are not yet; `n_growing` is 1 while an
    answer is being written, which is indexed at its end."""

    state: IndexedState
    n_waiting: int
    n_growing: int


def index_of(row: Conversation) -> Index:
    state = index_state(row.pk)
    n_growing = row.runs.filter(status=RunStatus.RUNNING).count()
    n_final = row.messages.count() - n_growing
    return Index(state, max(0, n_final - state.n_indexed), n_growing)


def may_rebuild(request: HttpRequest) -> bool:
    return operator_of(request).has_perm("chat.change_conversation")


def operator_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def turn_counts(run: Run) -> dict[str, int]:
    """How much a turn's receipt says was sent."""
    receipt = run.receipt
    return {
        "budget": receipt.get("budget_tokens", 0),
        "whole": len(receipt.get("window", ())),
        "lines": len(receipt.get("lines", ())),
        "left_out": sum(receipt.get("left_out", {}).values()),
        "packed_again": receipt.get("packed_again", 0),
    }
