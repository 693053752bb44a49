"""Hearing from a Git server that something was pushed."""

from __future__ import annotations

import hashlib
import hmac
from fnmatch import fnmatchcase

from django.conf import settings
from django.db.models import F

from audit.models import AskedBy, Repository, ScanRequest
from migrations_tracker.services.scans import follow_ask

BRANCH = "refs/heads/"


def push_secret(*, repository: Repository) -> str:
    """Return the secret of a repository's push address.

    It is made from SECRET_KEY and the number of the secret, so that it is kept nowhere.
    """
    if not repository.push_secret_number:
        return ""
    what = f"push {repository.pk} {repository.push_secret_number}"
    return hmac.new(settings.SECRET_KEY.encode(), what.encode(), hashlib.sha256).hexdigest()


def push_secret_renew(*, repository: Repository) -> None:
    """Open the push address of a repository, or give it a new secret; the one before ends."""
    Repository.objects.filter(pk=repository.pk).update(
        push_secret_number=F("push_secret_number") + 1, listens_to_pushes=True
    )
    repository.refresh_from_db(fields=["push_secret_number", "listens_to_pushes"])


def push_close(*, repository: Repository) -> None:
    """Close the push address of a repository."""
    Repository.objects.filter(pk=repository.pk).update(listens_to_pushes=False)
    repository.refresh_from_db(fields=["listens_to_pushes"])


def push_is_signed(*, repository: Repository, body: bytes, signature: str) -> bool:
    """Whether a body was signed with the repository's secret; compared in constant time."""
    if not repository.listens_to_pushes:
        return False
    secret = push_secret(repository=repository)
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.removeprefix("sha256=").strip().lower().encode())


def push_hear(*, repository: Repository, ref: str) -> ScanRequest | None:
    """Ask for what is new where the pushed branch is followed; the same push again finds nothing new."""
    if not ref.startswith(BRANCH):
        return None
    name = ref.removeprefix(BRANCH)
    patterns = repository.followed_branches or [repository.default_branch or "*"]
    if not any(fnmatchcase(name, pattern) for pattern in patterns):
        return None
    return follow_ask(repository=repository, actor=None, asked_by=AskedBy.PUSH)
