"""Who a program acts for, what its token lets it do, and how often it may ask."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja.security import HttpBearer

from migrations_tracker.access import access_check
from migrations_tracker.api.v1.problems import RefusedError, not_found
from migrations_tracker.models import ApiToken, TokenScope
from migrations_tracker.services.api_tokens import api_token_spend, api_token_use

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class ProgramRequest(HttpRequest):
    """A request of a program whose token is known; `user` is the token's owner."""

    user: User


class TokenAuth(HttpBearer):
    """Know a program by its token, count its requests, and hold it to the token's scope."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """Return the token's owner. Raises `RefusedError` for too many requests, or one beyond the scope."""
        found = api_token_use(text=token)
        if found is None:
            return None
        token_hold(request, found)
        # What is written carries the person in its history, as on a page.
        request.user = found.owner
        return found.owner


def token_hold(request: HttpRequest, token: ApiToken) -> None:
    """Count a request, and raise `RefusedError` where it is one too many or beyond the scope or role."""
    wait = api_token_spend(token=token)
    if wait:
        raise RefusedError(
            "This token has asked as often as it may for now.",
            HTTPStatus.TOO_MANY_REQUESTS,
            {"Retry-After": str(wait)},
        )
    if request.method not in SAFE_METHODS and token.scope != TokenScope.WRITE:
        raise RefusedError("This token may only read.", HTTPStatus.FORBIDDEN)
    try:
        access_check(request, token.owner)
    except PermissionDenied as error:
        raise RefusedError(str(error), HTTPStatus.FORBIDDEN) from error
    except Http404 as error:
        raise not_found("such thing") from error
