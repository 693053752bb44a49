"""Asking for verifications, and waking the worker that finds their tests."""

from __future__ import annotations

from django.contrib.auth.models import User

from audit.models import FallbackSite, Repository
from audit.services.scan_requests import commit_locate
from migrations_tracker.services.scans import row_wake
from workers.models import RequestTarget, VerificationRequest
from workers.services.requests import commit_of_last_scan, verification_request_create


def verification_ask(
    *,
    repository: Repository,
    target: RequestTarget,
    text: str = "",
    revision: str = "",
    site: FallbackSite | None = None,
    actor: User | None,
    is_nightly: bool = False,
) -> VerificationRequest:
    """Ask for a verification at a revision, or at the commit that the default branch's pages show."""
    if revision.strip():
        commit, _ = commit_locate(repository=repository, revision=revision.strip())
    else:
        commit = commit_of_last_scan(repository=repository)
    request = verification_request_create(
        repository=repository,
        commit=commit,
        target=target,
        text=text,
        site=site,
        actor=actor,
        is_nightly=is_nightly,
    )
    row_wake(row=request)
    return request
