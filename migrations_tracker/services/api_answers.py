"""Keeping what requests with an idempotency key were answered."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from migrations_tracker.models import ApiAnswer

KEPT_FOR = timedelta(days=1)
# Longer than any request may take: whoever has not answered by then is gone.
ANSWERED_WITHIN = timedelta(minutes=2)


def api_answer_reserve(*, owner: User, key: str, digest: str) -> ApiAnswer | None:
    """Take a key for a new request; return the row of the one that had it before, if there was one."""
    now = timezone.now()
    mine = ApiAnswer.objects.filter(owner=owner, key=key)
    ApiAnswer.objects.filter(created_at__lt=now - KEPT_FOR).delete()
    mine.filter(status=None, created_at__lt=now - ANSWERED_WITHIN).delete()
    found, is_new = ApiAnswer.objects.get_or_create(owner=owner, key=key, defaults={"request_digest": digest})
    return None if is_new else found


def api_answer_keep(*, owner: User, key: str, status: int, body: str) -> None:
    """Keep what a request was answered."""
    ApiAnswer.objects.filter(owner=owner, key=key).update(status=status, body=body)


def api_answer_forget(*, owner: User, key: str) -> None:
    """Free a key whose request did nothing."""
    ApiAnswer.objects.filter(owner=owner, key=key).delete()
