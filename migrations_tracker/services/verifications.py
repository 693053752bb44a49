"""Asking for verifications, and waking the worker that finds their tests."""

from __future__ import annotations

from django.contrib.auth.models import User

from audit.models import Commit, FallbackSite, Repository
from audit.services.scan_requests import commit_locate, revision_check
from migrations_tracker.services.scans import row_wake
from workers.models import MechanicalReport, RequestTarget, VerificationRequest
from workers.services.mechanical import mechanical_report_create
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
    commit = _commit(repository, revision)
    if target == RequestTarget.CHANGE and text.strip():
        text = _commit(repository, text).object_id
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


def mechanical_report_ask(
    *,
    repository: Repository,
    symbol: str = "",
    since: str = "",
    revision: str = "",
    actor: User | None,
) -> MechanicalReport:
    """Ask for the policy's checks of a function, or of what changed since a revision."""
    before = _commit(repository, since) if since.strip() else None
    report = mechanical_report_create(
        repository=repository,
        commit=_commit(repository, revision),
        symbol=symbol,
        since=before,
        actor=actor,
    )
    row_wake(row=report)
    return report


def _commit(repository: Repository, revision: str) -> Commit:
    """Find the commit of a revision, or the one that the default branch's pages show."""
    if not revision.strip():
        return commit_of_last_scan(repository=repository)
    checked = revision_check(repository=repository, revision=revision)
    commit, _ = commit_locate(repository=repository, revision=checked)
    return commit
