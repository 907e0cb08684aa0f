"""The pages on which a person deletes what they name: first what that means, then the yes."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from chat import store
from chat.forgetting import forget_message, own_message, what_goes
from chat.models import Message, User
from chat.turns import page_at


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delete_message(request: HttpRequest, pk: int) -> HttpResponse:
    message = own_message(_owner(request), pk)
    if message is None:
        raise Http404("There is no such message.")
    if request.method != "POST":
        return _confirmation(request, message)
    try:
        left = forget_message(_owner(request), pk)
    except store.Refused as refused:
        return _confirmation(request, message, fault=str(refused), status=409)
    if left.conversation_id is None:
        return redirect("home")
    return redirect(page_at(left.conversation_id, left.question_id))


def _confirmation(
    request: HttpRequest, message: Message, *, fault: str = "", status: int = 200
) -> HttpResponse:
    is_question = message.role == Message.Role.USER
    question = message.pk if is_question else message.parent_id
    context = {
        "conversation_id": message.conversation_id,
        "going": what_goes(message),
        "what": "question" if is_question else "answer",
        "back": page_at(message.conversation_id, question),
        "fault": fault,
    }
    return render(request, "chat/delete_message.html", context, status=status)


def _owner(request: HttpRequest) -> User:
    """Whoever is signed in: only pages that demand it ask."""
    assert isinstance(request.user, User)
    return request.user
