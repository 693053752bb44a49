"""What goes wrong, as RFC 9457 problem documents."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError

from audit.errors import AuditError, PolicyMovedError
from audit.scanner.errors import ScanError
from migrations_tracker.errors import ChangedMeanwhileError, PlanError
from migrations_tracker.lifecycle import TransitionNotAllowedError
from workers.errors import MachineryError

MEDIA_TYPE = "application/problem+json"


class Problem(Schema):
    """Why something was not answered. `errors` name the fields that do not fit."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


class RefusedError(Exception):
    """Something asked for is not done; the message says why."""

    def __init__(self, message: str, status: HTTPStatus, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


def not_found(noun: str) -> RefusedError:
    """Make the error that there is no such thing."""
    return RefusedError(f"There is no such {noun}.", HTTPStatus.NOT_FOUND)


def problem(
    status: int,
    detail: str,
    *,
    errors: list[dict[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Answer with a problem document."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if errors is not None:
        body["errors"] = errors
    response = JsonResponse(body, status=status, content_type=MEDIA_TYPE)
    for name, value in (headers or {}).items():
        response[name] = value
    return response


def problems_register(api: NinjaAPI) -> None:
    """Answer each kind of error in its own way."""

    @api.exception_handler(RefusedError)
    def _refused(request: HttpRequest, error: RefusedError) -> HttpResponse:
        return problem(error.status, str(error), headers=error.headers)

    @api.exception_handler(AuthenticationError)
    def _unknown(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
        return problem(
            HTTPStatus.UNAUTHORIZED,
            "Show a token: `Authorization: Bearer fa_...`.",
            headers={"WWW-Authenticate": "Bearer"},
        )

    @api.exception_handler(ValidationError)
    def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
        errors = [{"place": list(e["loc"]), "message": e["msg"]} for e in error.errors]
        first = errors[0]["message"] if errors else "It does not fit."
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"The request does not fit: {first}.", errors=errors)

    @api.exception_handler(HttpError)
    def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
        return problem(error.status_code, error.message)

    @api.exception_handler(Http404)
    def _missing(request: HttpRequest, error: Http404) -> HttpResponse:
        return problem(HTTPStatus.NOT_FOUND, "There is no such thing.")

    for moved in (ChangedMeanwhileError, PolicyMovedError):
        api.add_exception_handler(moved, _changed)

    for kind in (PlanError, AuditError, ScanError, MachineryError, TransitionNotAllowedError):
        api.add_exception_handler(kind, _not_done)


def _changed(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    return problem(HTTPStatus.CONFLICT, str(error))


def _not_done(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
