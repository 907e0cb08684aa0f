"""The page of a fault: Lumina's own, or that the database does not answer."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import server_error

AGAIN_SECONDS = 5


def fault(request: HttpRequest) -> HttpResponse:
    """Called while the error is being handled."""
    if not isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        return server_error(request)
    response = render(None, "503.html", status=503)  # no request: nothing is asked of the database
    response["Retry-After"] = str(AGAIN_SECONDS)
    return response
