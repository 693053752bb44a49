"""Who a program acts for, what its token lets it do, and how often it may ask."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.security import HttpBearer

from migrations_tracker.api.v1.problems import RefusedError
from migrations_tracker.models import TokenScope
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
        wait = api_token_spend(token=found)
        if wait:
            raise RefusedError(
                "This token has asked as often as it may for now.",
                HTTPStatus.TOO_MANY_REQUESTS,
                {"Retry-After": str(wait)},
            )
        if request.method not in SAFE_METHODS and found.scope != TokenScope.WRITE:
            raise RefusedError("This token may only read.", HTTPStatus.FORBIDDEN)
        # What is written carries the person in its history, as on a page.
        request.user = found.owner
        return found.owner


def permission_check(request: ProgramRequest, permission: str) -> None:
    """Raise `RefusedError` unless the token's owner has a permission."""
    if not request.user.has_perm(permission):
        raise RefusedError(f"The token's owner lacks the permission `{permission}`.", HTTPStatus.FORBIDDEN)
