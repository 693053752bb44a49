"""Running device tests unasked: all of them once a day, those that a commit touched when it was scanned."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from audit.errors import AuditError
from audit.models import Branch, Repository, RowState, ScanRun
from audit.services.git_repository import git_dir_of, is_tip
from migrations_tracker.services.scans import row_wake
from migrations_tracker.services.verifications import verification_ask
from workers.errors import MachineryError
from workers.models import NightlyVerification, RequestTarget, VerificationRequest
from workers.services.requests import verification_request_create

log = logging.getLogger(__name__)


def nightly_set(
    *, repository: Repository, is_on: bool, hour: int, is_after_scans: bool = False
) -> NightlyVerification:
    """Set whether a repository's device tests run each day, from which hour on, and whether after scans."""
    if not 0 <= hour <= 23:
        raise MachineryError("An hour is a number from 0 to 23.")
    nightly, _ = NightlyVerification.objects.update_or_create(
        repository=repository, defaults={"is_on": is_on, "hour": hour, "is_after_scans": is_after_scans}
    )
    return nightly


def changes_ask(*, scan_run: ScanRun, branch: Branch) -> VerificationRequest | None:
    """Ask for the device tests that run what changed with a branch's new tip since the scan before it.

    A scan of the past asks for nothing, and neither does the first one: nothing changed with it.
    """
    repository = branch.repository
    wanted = NightlyVerification.objects.filter(repository=repository, is_after_scans=True)
    if not repository.has_revisions or scan_run.commit.is_snapshot or not wanted.exists():
        return None
    before = (
        ScanRun.objects.filter(branch=branch, state=RowState.SUCCEEDED)
        .exclude(commit=scan_run.commit_id)
        .select_related("commit")
        .order_by("-id")
        .first()
    )
    git_dir, object_id = git_dir_of(repository), scan_run.commit.object_id
    if before is None or not is_tip(git_dir=git_dir, object_id=object_id, branch=branch.name):
        return None
    request = verification_request_create(
        repository=repository,
        commit=scan_run.commit,
        target=RequestTarget.CHANGE,
        text=before.commit.object_id,
        actor=None,
    )
    row_wake(row=request)
    return request


def nightlies_ask(*, now: datetime | None = None) -> int:
    """Ask for what is due; return how many were asked for. Asked twice within a day, it asks once."""
    now = now or timezone.now()
    today = now.date()
    due = NightlyVerification.objects.filter(is_on=True, hour__lte=now.hour).filter(
        Q(asked_on=None) | Q(asked_on__lt=today)
    )
    count = 0
    for nightly in due.select_related("repository"):
        with transaction.atomic():
            taken = NightlyVerification.objects.filter(pk=nightly.pk).filter(
                Q(asked_on=None) | Q(asked_on__lt=today)
            )
            if not taken.update(asked_on=today, failure_reason=""):
                continue
            try:
                verification_ask(
                    repository=nightly.repository,
                    target=RequestTarget.COMMIT,
                    actor=None,
                    is_nightly=True,
                )
            except (MachineryError, AuditError) as error:
                log.warning("nightly verification of %s: %s", nightly.repository, error)
                NightlyVerification.objects.filter(pk=nightly.pk).update(failure_reason=str(error))
            else:
                count += 1
    return count
