"""The pages. Each reaches rows through their owner: what is not theirs is not there."""

from __future__ import annotations

import asyncio
import math
import secrets
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)
from kombu.exceptions import OperationalError
from prometheus_client import CONTENT_TYPE_LATEST

from chat import metrics as counted
from chat import store
from chat.accounts import asking
from chat.accounts.views import address
from chat.agent.sources import LIBRARY_DOMAIN, is_linkable
from chat.database import in_database
from chat.forgetting import forget_conversation
from chat.forms import AskForm
from chat.hub import hub
from chat.library_models import LibraryDocument
from chat.models import Conversation, Message, Run, Source, User
from chat.passages import preview_of, shown_passages
from chat.queue import n_waiting
from chat.runs import manager
from chat.selfcheck import check_everything, check_readiness
from chat.selfcheck.findings import Finding, in_thread, verdict, worst_first
from chat.session import folders_of
from chat.tree import Tree
from chat.turns import path_page
from chat.wiring import examples, metrics_access, model_label, question_max_chars
from chat.working import working_of
from memory.service import n_unindexed

LIST_LENGTH = 200
REFUSALS = {"unknown": 404, "too_many": 429, "quota": 429}
QUEUE_SECONDS = 3.0
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The empty state. `?q=` puts a question into the box; nothing is asked by a GET. `?from=` is
    the conversation that was left: its folder is kept, and the page asks about the rest."""
    before = _own_conversations(request).filter(pk=_id(request.GET.get("from")) or 0).first()
    context = _frame(request) | {
        "examples": examples(),
        "facts": before,
        "asks_to_keep": bool(before and (before.name or before.style)),
        "draft": request.GET.get("q", "")[: question_max_chars()],
        "placeholder": "Ask anything…",
        "autofocus": True,
    }
    return render(request, "chat/conversation.html", context)


@require_safe
@login_required
def conversation(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Conversation.objects.of(_owner(request)), pk=pk)
    store.sweep_conversation(row.pk)
    page = path_page(row, before=_id(request.GET.get("before")), at=_id(request.GET.get("at")))
    newest = row.runs.order_by("-pk").values_list("pk", flat=True).first() or 0
    context = _frame(request, row) | {
        "page": page,
        "newest_run": newest,
        "is_running": any(turn.is_running for turn in page.turns),
        "placeholder": "Ask a follow-up…",
    }
    template = "chat/_path.html" if _wants_fragment(request) else "chat/conversation.html"
    return render(request, template, context)


@require_POST
async def ask(request: HttpRequest) -> HttpResponse:
    """The way to ask without a socket: the page that follows shows the answer as it grows."""
    user = await request.auser()
    if not user.is_authenticated:
        return redirect("sign-in")
    form = AskForm(request.POST)
    valid = await sync_to_async(form.is_valid)()
    if not valid:
        return await sync_to_async(_refused)(request, form.first_error(), status=400)
    try:
        run, is_new = await sync_to_async(asking.begin_run)(user, form.ask(), address(request))
    except store.Refused as refused:
        status = REFUSALS.get(refused.code, 409)
        response = await sync_to_async(_refused)(request, str(refused), status=status)
        if refused.wait_seconds:
            response["Retry-After"] = str(refused.wait_seconds)
        return response
    if is_new:
        manager.start(run.pk)
        hub.publish(run.conversation_id)
    return redirect(_at(run.conversation_id, run.question_id))


def _refused(request: HttpRequest, reason: str, *, status: int) -> HttpResponse:
    """The page that was left, with the reason and the question still in the box."""
    if status == 404:
        raise Http404(reason)
    own = Conversation.objects.of(_owner(request))
    row = own.filter(pk=_id(request.POST.get("conversation")) or 0).first()
    context = _frame(request, row) | {
        "page": path_page(row) if row else None,
        "examples": examples(),
        "error": reason,
        "draft": request.POST.get("text", ""),
        "placeholder": "Ask a follow-up…" if row else "Ask anything…",
    }
    return render(request, "chat/conversation.html", context, status=status)


@require_POST
@login_required
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.of(_owner(request)), pk=pk)
    store.request_stop(_owner(request), run.pk)
    return redirect("conversation", run.conversation_id)


@require_POST
@login_required
def show_version(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows another version of a question or an answer, with what followed it."""
    row = get_object_or_404(Conversation.objects.of(_owner(request)), pk=pk)
    message = get_object_or_404(Message, conversation=row, pk=_id(request.POST.get("message")) or 0)
    if row.runs.filter(status="running").exists():
        return _refused_version(request, row)
    Conversation.objects.filter(pk=row.pk).update(head=Tree(row.pk).newest_leaf(message.pk))
    question = message.pk if message.role == Message.Role.USER else message.parent_id
    return redirect(_at(row.pk, question))


def _refused_version(request: HttpRequest, row: Conversation) -> HttpResponse:
    context = _frame(request, row) | {
        "page": path_page(row),
        "error": "An answer is still being written here. Stop it first, then look at versions.",
        "placeholder": "Ask a follow-up…",
    }
    return render(request, "chat/conversation.html", context, status=409)


@require_POST
@login_required
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Conversation.objects.of(_owner(request)), pk=pk)
    title = " ".join(request.POST.get("title", "").split())[:120]
    if title:
        Conversation.objects.filter(pk=row.pk).update(title=title)
    return redirect("conversation", row.pk)


@require_POST
@login_required
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        forget_conversation(_owner(request), pk)
    except store.Refused as refused:
        raise Http404(str(refused)) from None
    return redirect("home")


@require_safe
@login_required
def conversations(request: HttpRequest) -> HttpResponse:
    rows = _own_conversations(request)[:LIST_LENGTH]
    return render(request, "chat/conversations.html", _frame(request) | {"all": rows})


@require_safe
@login_required
def sidebar(request: HttpRequest) -> HttpResponse:
    context = _frame(request) | {"conversation_id": _id(request.GET.get("conversation"))}
    return render(request, "chat/_sidebar.html", context)


@require_safe
@login_required
def source(request: HttpRequest, run: int, number: int) -> HttpResponse:
    """A source with the passages that were read: a page of its own, a card's inside, or, with
    `preview`, what one claim rests on."""
    row = get_object_or_404(
        Source.objects.of(_owner(request)).select_related("run__answer"),
        run__pk=run,  # `run` alone fails for a number that the database cannot hold
        number=number,
    )
    claim = request.GET.get("claim", "")[:1_000]
    fragment = _wants_fragment(request)
    context = {
        "source": row,
        "source_url": reverse("source", args=[run, number]),
        "link": row.url if is_linkable(row.url) else "",
        "is_library": row.domain == LIBRARY_DOMAIN,
    }
    if fragment and "preview" in request.GET:
        context |= {"passages": preview_of(row, claim)}
        return render(request, "chat/_preview.html", context)
    passages, n_hidden = shown_passages(row, limit=6 if fragment else None)
    context |= {"passages": passages, "n_hidden": n_hidden}
    if fragment:
        return render(request, "chat/_source_body.html", context)
    return render(request, "chat/source.html", _frame(request, row.run.conversation) | context)


@require_safe
@login_required
def working(request: HttpRequest, run: int) -> HttpResponse:
    """What was at hand for one question: a page, or its inside for the turn that shows it."""
    runs = Run.objects.of(_owner(request)).select_related("question", "answer", "conversation")
    row = get_object_or_404(runs, pk=run)
    context = {"run": row, "working": working_of(row)}
    if _wants_fragment(request):
        return render(request, "chat/_working.html", context)
    return render(request, "chat/working.html", _frame(request, row.conversation) | context)


@require_safe
@login_required
def document(request: HttpRequest, pk: int) -> HttpResponse:
    """A document of the person's library, as it was indexed."""
    row = get_object_or_404(LibraryDocument.objects.visible_to(_owner(request)), pk=pk)
    return render(request, "chat/document.html", _frame(request) | {"document": row})


# --- What operators ask -------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
async def check(request: HttpRequest) -> HttpResponse:
    """The self-check. A GET shows the button alone: nothing is asked of anyone by a link."""
    user = await request.auser()
    if not user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not user.is_staff:
        raise Http404
    found = await check_everything() if request.method == "POST" else []
    return await sync_to_async(_check_page)(request, found)


def _check_page(request: HttpRequest, found: list[Finding]) -> HttpResponse:
    context = _frame(request) | {"findings": worst_first(found), "verdict": verdict(found)}
    return render(request, "chat/check.html", context)


@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """That the process lives; nothing else is asked."""
    return HttpResponse("ok", content_type="text/plain")


@never_cache
@require_GET
async def readyz(request: HttpRequest) -> JsonResponse:
    """Whether this server can take requests: 200, or 503 with the reasons."""
    found = await check_readiness()
    reasons = [f"{one.subject}: {one.sentence}" for one in found if one.level == "failure"]
    body = {"ready": not reasons, "reasons": reasons}
    return JsonResponse(body, status=503 if reasons else 200)


@never_cache
@require_GET
async def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus: from this machine, or with the token; otherwise there is no such page."""
    headers = request.headers
    allowed = metrics_access().allows(
        authorization=headers.get("Authorization", ""),
        peer=request.META.get("REMOTE_ADDR", ""),
        host=urlsplit(f"//{request.get_host()}").hostname or "",
        forwarded=any(name in headers for name in FORWARDED),
    )
    if not allowed:
        raise Http404
    page = counted.page(await _queue_length(), await _index_backlog())
    return HttpResponse(page, content_type=CONTENT_TYPE_LATEST)


async def _index_backlog() -> float:
    try:
        return await in_database(n_unindexed)()
    except DatabaseError:
        return math.nan


async def _queue_length() -> float:
    try:
        async with asyncio.timeout(QUEUE_SECONDS):
            return await in_thread(n_waiting)
    except (OperationalError, OSError):
        return math.nan


# --- What every page has ------------------------------------------------------------------------


def _frame(request: HttpRequest, row: Conversation | None = None) -> dict[str, Any]:
    return {
        "conversation": row,
        "conversation_id": row.pk if row else None,
        "facts": row,
        "folders": SimpleLazyObject(lambda: folders_of(_owner(request))),
        "client_id": secrets.token_urlsafe(12),
        "question_max_chars": question_max_chars(),
        "model_label": model_label(),
        "now": timezone.now(),
    }


def _owner(request: HttpRequest) -> User:
    """Whoever is signed in: only pages that demand it ask."""
    assert isinstance(request.user, User)
    return request.user


def _own_conversations(request: HttpRequest) -> QuerySet[Conversation]:
    return Conversation.objects.of(_owner(request))


def _wants_fragment(request: HttpRequest) -> bool:
    return request.headers.get("X-Fragment") == "1"


def _at(conversation_id: int, question_id: int | None) -> str:
    """A conversation's address, at one of its questions."""
    return f"{reverse('conversation', args=[conversation_id])}#turn-{question_id}"


def _id(value: str | None) -> int | None:
    """A whole number that can be an id; anything else is none."""
    is_id = value and value.isascii() and value.isdecimal() and len(value) < 19
    return int(value) if value and is_id else None
