"""Keeps the character that no text in the database can hold out of what pages read from an address."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponseBase

_NUL = "%00"
# Left out, what stands around it might be another one.
_REPLACEMENT = "%EF%BF%BD"
_PROGRAMS = "/api/"


class CleanAddressMiddleware:
    """Lets no view see a NUL: one in a parameter becomes U+FFFD, and no page has one in its path.

    Programs are told what is wrong with their parameters instead.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(_PROGRAMS):
            if "\0" in request.path_info:
                raise Http404("There is no such page.")
            request.META["QUERY_STRING"] = request.META.get("QUERY_STRING", "").replace(_NUL, _REPLACEMENT)
        return self.get_response(request)
