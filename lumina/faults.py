"""The page of a fault: Lumina's own, that the database does not answer, or that there is no such
place in Django's admin, which does not look at every part of its addresses."""

from __future__ import annotations

import sys
from collections.abc import Callable

from django.core.exceptions import FieldDoesNotExist
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.defaults import server_error

AGAIN_SECONDS = 5


def fault(request: HttpRequest) -> HttpResponse:
    """Called while the error is being handled."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return server_error(request)
    response = render(None, "503.html", status=503)  # no request: nothing is asked of the database
    response["Retry-After"] = str(AGAIN_SECONDS)
    return response


class AdminPlaces:
    """A name of a field in the admin's address that is none is a place that is not there."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        if isinstance(error, FieldDoesNotExist) and request.path.startswith(reverse("admin:index")):
            raise Http404 from error
