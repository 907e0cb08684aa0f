"""The pages where a person sees, corrects and forgets what is remembered in files.

Each reaches rows through their owner: what is not theirs is not there.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from memory import keeping, store
from memory.engine.files import FileRefused, parse
from memory.models import MemoryFile, Proposal
from memory.overview import SUMMARIES_SHOWN, index_overview, retry_summary, shown_summaries
from memory.service import conversation_facts, message_reader
from memory.showing import REVISIONS_SHOWN, shown_revisions, tree_of, wish_lines

FACTS_SHOWN = 50
MOVED_ON = (
    "This file has changed while you were editing it. Your text is still below; the newest "
    "revision is in the list."
)


@require_safe
@login_required
def index(request: HttpRequest) -> HttpResponse:
    return _index(request)


@require_safe
@login_required
def file(request: HttpRequest, pk: int) -> HttpResponse:
    return _file(request, _own(request, pk))


@require_POST
@login_required
def new(request: HttpRequest) -> HttpResponse:
    path, text = request.POST.get("path", ""), request.POST.get("text", "")
    draft = {"path": path, "text": text}
    try:
        path = keeping.new_path(_owner(request), path)
        keeping.save_by_hand(_owner(request), path, text)
    except FileRefused as refused:
        return _index(request, status=400, fault=str(refused), draft=draft)
    made = store.file_of(_owner(request), path)
    if made is None:
        return _index(request, status=400, fault="Write something first.", draft=draft)
    return redirect("memory-file", made.pk)


@require_POST
@login_required
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    row = _own(request, pk)
    text = request.POST.get("text", "")
    if request.POST.get("base") != str(store.newest_number(row)):
        return _file(request, row, status=409, fault=MOVED_ON, draft=text)
    try:
        keeping.save_by_hand(_owner(request), row.path, text, expected=row.text)
    except FileRefused as refused:
        return _file(request, row, status=400, fault=str(refused), draft=text)
    return redirect("memory-file", row.pk)


@require_POST
@login_required
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Takes the newest change back. A file that had only one is gone then."""
    row = _own(request, pk)
    store.undo(_owner(request), row.path)
    still_there = store.file_of(_owner(request), row.path)
    return redirect("memory-file", still_there.pk) if still_there else redirect("memory")


@require_POST
@login_required
def restore(request: HttpRequest, pk: int) -> HttpResponse:
    row = _own(request, pk)
    number = request.POST.get("number", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    if not is_number or not store.restore(_owner(request), row.path, int(number)):
        raise Http404("There is no such revision.")
    return redirect("memory-file", row.pk)


@require_POST
@login_required
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    store.remove_file(_owner(request), _own(request, pk).path)
    return redirect("memory")


@require_POST
@login_required
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """The person's yes or no to a change that waits."""
    wish = get_object_or_404(Proposal.objects.of(_owner(request)), pk=pk)
    if request.POST.get("answer") != "yes":
        keeping.decline(_owner(request), wish.pk)
        return redirect("memory")
    try:
        keeping.accept(_owner(request), wish.pk)
    except FileRefused as refused:
        return _index(request, status=409, fault=str(refused))
    return redirect("memory")


@require_POST
@login_required
def forget_all(request: HttpRequest) -> HttpResponse:
    if request.POST.get("sure") != "yes":
        fault = "Nothing was forgotten: tick the box first, if you mean it."
        return _index(request, status=400, fault=fault)
    store.remove_all(_owner(request))
    conversation_facts().forget(_owner(request))
    return redirect("memory")


@require_POST
@login_required
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Has a summary that failed made again now."""
    if not retry_summary(_owner(request), pk):
        raise Http404("There is no such summary that failed.")
    return redirect(f"{reverse('memory')}#summaries")


# --- What the pages hold ------------------------------------------------------------------------


def _index(request: HttpRequest, *, status: int = 200, **more: Any) -> HttpResponse:
    files = store.files_of(_owner(request))
    wishes = [(wish, wish_lines(wish)) for wish in store.proposals_of(_owner(request))]
    limit = None if "all" in request.GET else SUMMARIES_SHOWN
    summaries, n_hidden = shown_summaries(_owner(request), limit)
    index = index_overview(message_reader(), _owner(request))
    facts = conversation_facts().held(_owner(request), FACTS_SHOWN)
    context = {
        "on_memory": True,
        "tree": tree_of(files),
        "n_files": len(files),
        "wishes": wishes,
        "summaries": summaries,
        "n_hidden": n_hidden,
        "facts": facts,
        "index": index,
        "has_anything": bool(files or wishes or summaries or facts or index.n_indexed),
    }
    return render(request, "memory/index.html", context | more, status=status)


def _file(
    request: HttpRequest, row: MemoryFile, *, status: int = 200, fault: str = "", draft: str = ""
) -> HttpResponse:
    rows = store.revisions_of(row)
    limit = None if "all" in request.GET else REVISIONS_SHOWN
    context = {
        "on_memory": True,
        "file": row,
        "parsed": parse(row.text),
        "raw": "raw" in request.GET,
        "revisions": shown_revisions(rows, limit),
        "n_hidden": max(0, len(rows) - limit) if limit else 0,
        "base": rows[-1].number if rows else 0,
        "fault": fault,
        "draft": draft if fault else row.text,
    }
    return render(request, "memory/file.html", context, status=status)


def _owner(request: HttpRequest) -> int:
    """Whoever is signed in: only pages that demand it ask."""
    assert request.user.pk is not None
    return int(request.user.pk)


def _own(request: HttpRequest, pk: int) -> MemoryFile:
    return get_object_or_404(MemoryFile.objects.of(_owner(request)), pk=pk)
