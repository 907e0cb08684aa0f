"""The page of a turn: what the model saw, and what it would have seen otherwise."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from chat.inspecting.repacking import budgets_of, newest_only, repacked
from chat.inspecting.turn import seen_turn
from chat.models import Run, User
from chat.working import working_of

PARTS = ("owner", "conversation", "question", "answer")


@require_safe
@login_required
def turn(request: HttpRequest, conversation: int, pk: int) -> HttpResponse:
    assert isinstance(request.user, User)
    run = get_object_or_404(Run.objects.of(request.user).select_related(*PARTS), pk=pk)
    if run.conversation_id != conversation:
        raise Http404
    return turn_page(request, run, frame="inspecting/turn.html", with_content=True, with_links=True)


def turn_page(
    request: HttpRequest, run: Run, *, frame: str, with_content: bool, with_links: bool
) -> HttpResponse:
    """The whole page in a frame, or the comparison alone where a script asks for it. Links lead to
    pages that the owner alone can open."""
    context = {
        "run": run,
        "conversation": run.conversation,
        "with_content": with_content,
        "with_links": with_links,
    }
    if not run.receipt:
        return render(request, frame, context)
    compared, status = _compared(request, run, with_content)
    context |= compared
    if request.headers.get("X-Fragment") == "1":
        return render(request, "inspecting/_compared.html", context, status=status)
    context |= {
        "seen": seen_turn(run, with_content=with_content),
        "working": working_of(run) if with_content else None,
    }
    return render(request, frame, context, status=status)


def _compared(request: HttpRequest, run: Run, with_content: bool) -> tuple[dict[str, Any], int]:
    """What the address asks to compare with: another budget, or the newest only."""
    budgets = budgets_of(run.receipt)
    context: dict[str, Any] = {"budgets": budgets, "budget": budgets.chosen}
    if request.GET.get("compare") == "newest":
        return context | {"newest": newest_only(run, with_content=with_content)}, 200
    if "budget" not in request.GET:
        return context, 200
    budget = budgets.read(request.GET["budget"])
    if budget is None:
        return context | {"fault": budgets.fault}, 400
    found = repacked(run, budget, with_content=with_content)
    return context | {"budget": budget, "repacked": found}, 200
