"""Logging in with a name and a password, as often as people do and no oftener."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest

from migrations_tracker.services.log_ins import (
    WINDOW,
    log_in_failed,
    log_in_is_refused,
    log_in_succeeded,
)


class ThrottledBackend(ModelBackend):
    """Looks at a password only while few log-ins failed; every page that logs people in goes through it."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return the person, or None; `PermissionDenied` ends the attempt without a look at the password."""
        if not username or password is None:
            return None
        attempt = {"name": username, "address": address_of(request)}
        if log_in_is_refused(**attempt):
            raise PermissionDenied
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is None:
            log_in_failed(**attempt)
        else:
            log_in_succeeded(**attempt)
        return user


class LogInForm(AuthenticationForm):
    """The form of the log-in page, which says when it was tried too often."""

    def get_invalid_login_error(self) -> ValidationError:
        """Return what is shown; whether the name exists is not told."""
        name = str(self.cleaned_data.get("username", ""))
        if log_in_is_refused(name=name, address=address_of(self.request)):
            minutes = int(WINDOW.total_seconds() // 60)
            return ValidationError(
                f"Too many log-ins failed. Wait {minutes} minutes, then try again.", code="too_many"
            )
        return super().get_invalid_login_error()


def address_of(request: HttpRequest | None) -> str:
    """Tell from where a request comes; behind a proxy, that is what the proxy says last."""
    if request is None:
        return ""
    if settings.IS_BEHIND_PROXY and (forwarded := request.headers.get("X-Forwarded-For")):
        return forwarded.rsplit(",", 1)[-1].strip()[:64]
    return str(request.META.get("REMOTE_ADDR", ""))[:64]
