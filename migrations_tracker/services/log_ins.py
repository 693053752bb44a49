"""Slowing down who guesses passwords."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from migrations_tracker.models import LoginFailure

WINDOW = timedelta(minutes=15)
# One name from one address; one address with any names; one name from anywhere, which is generous, so that
# nobody can lock another out with little.
FAILURES_OF_PAIR = 5
FAILURES_OF_ADDRESS = 30
FAILURES_OF_NAME = 100


def log_in_is_refused(*, name: str, address: str) -> bool:
    """Whether so many log-ins failed of late that no password is looked at."""
    since = timezone.now() - WINDOW
    recent = LoginFailure.objects.filter(created_at__gt=since)
    of_name = recent.filter(name_digest=_digest(name))
    return (
        of_name.filter(address=address).count() >= FAILURES_OF_PAIR
        or of_name.count() >= FAILURES_OF_NAME
        or recent.filter(address=address).count() >= FAILURES_OF_ADDRESS
    )


def log_in_failed(*, name: str, address: str) -> None:
    """Note a log-in that failed, and forget those that no longer count."""
    LoginFailure.objects.filter(created_at__lt=timezone.now() - WINDOW).delete()
    LoginFailure.objects.create(name_digest=_digest(name), address=address)


def log_in_succeeded(*, name: str, address: str) -> None:
    """Forget what this person typed wrong from here before."""
    LoginFailure.objects.filter(name_digest=_digest(name), address=address).delete()


def _digest(name: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), name.strip().lower().encode(), hashlib.sha256).hexdigest()
