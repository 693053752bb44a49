"""Who a program acts for, and how it is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, cast

import pghistory
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from audit.errors import AuditError
from audit.scanner.errors import ScanError
from migrations_tracker.access import access_check
from migrations_tracker.errors import PlanError
from migrations_tracker.http import SignedInRequest
from migrations_tracker.models import TokenScope
from migrations_tracker.services.api_tokens import api_token_spend, api_token_use

BAD_REQUEST, UNAUTHORISED, FORBIDDEN, NOT_FOUND, TOO_LARGE, UNPROCESSABLE = 400, 401, 403, 404, 413, 422
TOO_MANY = 429
READING = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_BODY_BYTES = 64 * 1024
_P = ParamSpec("_P")


class RefusedError(Exception):
    """What a program asked for is not answered; the message says why."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def for_programs(
    view: Callable[Concatenate[HttpRequest, User, _P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, _P], HttpResponse]:
    """Answer whoever shows a token, as its owner; what goes wrong is JSON with one sentence.

    A session is no token: a page of another site can't make a browser act here.
    """

    def answer(request: HttpRequest, /, *args: _P.args, **kwargs: _P.kwargs) -> HttpResponse:
        try:
            owner = _owner_of(request)
            if owner is None:
                return _no_token()
            with pghistory.context(user=owner.pk):
                return view(request, owner, *args, **kwargs)
        except RefusedError as error:
            return refusal(str(error), error.status)
        except (AuditError, ScanError, PlanError) as error:
            return refusal(str(error), UNPROCESSABLE)

    return csrf_exempt(update_wrapper(answer, view))


def readable_by_programs(
    view: Callable[Concatenate[SignedInRequest, _P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, _P], HttpResponseBase]:
    """Show a page that changes nothing to whoever is logged in, and to programs that show a token."""
    for_people = login_required(view)

    def answer(request: HttpRequest, /, *args: _P.args, **kwargs: _P.kwargs) -> HttpResponseBase:
        signed_in = cast("SignedInRequest", request)
        if "Authorization" not in request.headers:
            return for_people(signed_in, *args, **kwargs)
        try:
            owner = _owner_of(request)
        except RefusedError as error:
            return refusal(str(error), error.status)
        if owner is None:
            return _no_token()
        signed_in.user = owner
        return view(signed_in, *args, **kwargs)

    return update_wrapper(answer, view)


def _owner_of(request: HttpRequest) -> User | None:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    token = api_token_use(text=text.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        return None
    if api_token_spend(token=token):
        raise RefusedError("This token has asked as often as it may for now.", TOO_MANY)
    if request.method not in READING and token.scope != TokenScope.WRITE:
        raise RefusedError("This token may only read.", FORBIDDEN)
    try:
        access_check(request, token.owner)
    except PermissionDenied as error:
        raise RefusedError(str(error), FORBIDDEN) from error
    except Http404 as error:
        raise RefusedError("There is no such thing here.", NOT_FOUND) from error
    return token.owner


def _no_token() -> HttpResponse:
    refused = refusal("Show a token: `Authorization: Bearer fa_...`.", UNAUTHORISED)
    refused["WWW-Authenticate"] = "Bearer"
    return refused


def refusal(message: str, status: int) -> HttpResponse:
    """Say in JSON why something is not answered."""
    return JsonResponse({"error": message}, status=status)


def body_of(request: HttpRequest, *, limit: int = MAX_BODY_BYTES) -> bytes:
    """Read a body up to its limit."""
    body = request.read(limit + 1)
    if len(body) > limit:
        raise RefusedError(f"The limit here is {limit} bytes.", TOO_LARGE)
    return body


def fields_of(body: bytes) -> Mapping[str, Any]:
    """Read a JSON object; nothing at all is an empty one."""
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise RefusedError("The body is no JSON.", BAD_REQUEST) from error
    if not isinstance(found, dict):
        raise RefusedError("The body is no JSON object.", BAD_REQUEST)
    return found


def text_in(fields: Mapping[str, Any], name: str) -> str:
    """Return a field that is text, or nothing."""
    value = fields.get(name, "")
    if not isinstance(value, str) or "\0" in value:
        raise RefusedError(f"`{name}` is text.", BAD_REQUEST)
    return value
